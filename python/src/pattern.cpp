#include "pattern.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "cornerturn/error.hpp"
#include "text.hpp"

namespace cornerturn::python {
namespace {

constexpr std::string_view blanks = " \t\n";

// One side of a pattern. Group k is axis k of the array; its names end before at[ends[k]].
struct side {
  int count = 0;
  int ellipsis = -1;  // position of "..." in `at`
  int groups = 0;
  bool composed = false;  // has parentheses or a 1
  bool encloses = false;  // has "..." inside of parentheses
  std::array<std::string_view, most_axes> at;
  axis_numbers ends;
};

[[noreturn]] void refuse(std::string_view pattern, const std::string& rest) {
  throw error(status::invalid_argument, "pattern is '" + escaped(pattern) + "', " + rest);
}

bool is_ascii_name(std::string_view word) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!letter(word.front()) || word.back() == '_') return false;
  return std::all_of(word.begin(), word.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// As einops: an identifier of Python without an underscore at its ends.
bool is_name(std::string_view word) {
  if (is_ascii_name(word)) return true;
  if (word.front() == '_' || word.back() == '_') return false;
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(word.data(), static_cast<Py_ssize_t>(word.size()), nullptr));
  if (text.is_valid()) return PyUnicode_IsIdentifier(text.ptr()) == 1;
  PyErr_Clear();
  return false;
}

void add(side& made, std::string_view word, std::string_view pattern) {
  if (word == "...") {
    made.ellipsis = made.count;
  } else if (!is_name(word)) {
    refuse(pattern, "in which '" + escaped(word) +
                        "' is not the name of an axis. Wanted: letters, digits and '_', with a letter first and no '_' "
                        "last; or '...', '1' or parentheses");
  }
  for (int k = 0; k < made.count; ++k) {
    if (made.at[k] == word) refuse(pattern, "with '" + escaped(word) + "' twice on one side");
  }
  if (made.count == most_axes) refuse(pattern, "which names more than 64 axes");
  made.at[made.count++] = word;
}

void end_group(side& made, std::string_view pattern) {
  if (made.groups == most_axes) refuse(pattern, "which has more than 64 axes");
  made.ends[made.groups++] = made.count;
}

side parsed(std::string_view text, std::string_view pattern) {
  side made;
  bool inside = false;
  while (true) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const bool is_parenthesis = text.front() == '(' || text.front() == ')';
    const std::string_view word = text.substr(0, is_parenthesis ? 1 : text.find_first_of(" \t\n()"));
    text.remove_prefix(word.size());
    if (is_parenthesis) {
      if (inside == (word == "("))
        refuse(pattern, inside ? "with parentheses inside of parentheses" : "with a ')' without its '('");
      inside = !inside;
      made.composed = true;
    } else if (word == "1") {
      made.composed = true;
    } else {
      add(made, word, pattern);
      made.encloses = made.encloses || (inside && word == "...");
    }
    if (!inside) end_group(made, pattern);
  }
  if (inside) refuse(pattern, "with a '(' without its ')'");
  return made;
}

int position_of(std::string_view word, const side& in) {
  for (int k = 0; k < in.count; ++k) {
    if (in.at[k] == word) return k;
  }
  return -1;
}

void check_names(const side& names_here, const side& names_there, const char* where, std::string_view pattern) {
  for (int k = 0; k < names_here.count; ++k) {
    if (position_of(names_here.at[k], names_there) >= 0) continue;
    refuse(pattern, "and '" + escaped(names_here.at[k]) + "' is missing on the " + where +
                        ". Wanted: equal sets of names on both sides");
  }
}

struct sides {
  side from, to;
  int unnamed = 0;  // number of axes of "..."
};

sides parsed(std::string_view pattern, int rank) {
  const std::size_t arrow = pattern.find("->");
  if (arrow == std::string_view::npos || pattern.find("->", arrow + 2) != std::string_view::npos)
    refuse(pattern, "wanted one '->', as in 'n c h w -> n h w c'");
  sides made{.from = parsed(pattern.substr(0, arrow), pattern), .to = parsed(pattern.substr(arrow + 2), pattern)};
  const side& from = made.from;
  check_names(from, made.to, "right", pattern);
  check_names(made.to, from, "left", pattern);
  const bool open = from.ellipsis >= 0;
  const int named = from.groups - (open ? 1 : 0);
  made.unnamed = open ? rank - named : 0;
  if (made.unnamed < 0 || (!open && rank != named))
    refuse(pattern,
           "which is for " + number_of_axes(named) + (open ? " or more" : "") + ", but x has " + number_of_axes(rank));
  return made;
}

axis_list axes_of(const sides& all) {
  const int ellipsis = all.from.ellipsis;
  axis_list made{.count = 0, .at = {}};
  for (int k = 0; k < all.to.count; ++k) {
    const int position = position_of(all.to.at[k], all.from);
    const int axis = ellipsis >= 0 && position > ellipsis ? position + all.unnamed - 1 : position;
    for (int step = 0; step < (position == ellipsis ? all.unnamed : 1); ++step) made.at[made.count++] = axis + step;
  }
  return made;
}

}  // namespace

bool splits_or_joins(std::string_view pattern) {
  bool may = false;
  for (const char c : pattern) may |= c == '(' || c == ')' || c == '1';  // a compiler makes vectors of this loop
  if (!may) return false;
  const auto ends_word = [&](std::size_t at) {
    return at >= pattern.size() || std::string_view(" \t\n->").find(pattern[at]) != std::string_view::npos;
  };
  for (std::size_t k = 0; k < pattern.size(); ++k) {
    if (pattern[k] == '(' || pattern[k] == ')') return true;
    if (pattern[k] == '1' && (k == 0 || ends_word(k - 1)) && ends_word(k + 1)) return true;
  }
  return false;
}

axis_list axes_of_pattern(std::string_view pattern, int rank) {
  const sides all = parsed(pattern, rank);
  if (all.from.composed || all.to.composed)
    refuse(pattern, "which splits or joins axes. Wanted: names and '...' only, or the function rearrange");
  return axes_of(all);
}

nb::tuple parts_of_pattern(std::string_view pattern, int rank) {
  const sides all = parsed(pattern, rank);
  const auto& [from, to, unnamed] = all;
  if (from.encloses) refuse(pattern, "with '...' inside of parentheses on the left. Wanted: '...' outside of them");
  if (from.count + (from.ellipsis >= 0 ? unnamed - 1 : 0) > most_axes)
    refuse(pattern, "which makes more than 64 parts of axes");
  nb::list parts, joins;
  for (int k = 0, at = 0; k < from.groups; at = from.ends[k++]) {
    if (at == from.ellipsis && from.ends[k] > at) {
      for (int step = 0; step < unnamed; ++step) parts.append(nb::make_tuple(""));
      continue;
    }
    nb::list names;
    for (int name = at; name < from.ends[k]; ++name) names.append(nb::str(from.at[name].data(), from.at[name].size()));
    parts.append(nb::tuple(names));
  }
  for (int k = 0, at = 0; k < to.groups; at = to.ends[k++]) {
    const bool open = at <= to.ellipsis && to.ellipsis < to.ends[k];
    const int count = to.ends[k] - at + (open ? unnamed - 1 : 0);
    if (!open || to.encloses) {
      joins.append(count);
    } else {
      for (int step = 0; step < unnamed; ++step) joins.append(1);
    }
  }
  return nb::make_tuple(nb::tuple(parts), to_tuple(axes_of(all)), nb::tuple(joins));
}

}  // namespace cornerturn::python
