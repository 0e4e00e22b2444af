// The page: fills the {{fields}} of cli/report.html.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "cornerturn/system.hpp"
#include "report.hpp"
#include "report_template.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

std::string facts_html(const std::vector<fact>& facts) {
  std::string out = "<dl>";
  for (const auto& [what, how] : facts) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(what), escaped(how));
  return out + "</dl>\n";
}

std::string hero_number(const std::string& number, const std::string& words) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", number, escaped(words));
}

std::string hero_of(const report& all) {
  std::string out;
  for (const bench_run& run : all.benches) {
    std::vector<double> shares;
    double roof = 0;
    for (const measured_case& one : run.cases) {
      if (one.hot) continue;
      shares.push_back(one.share);
      roof = std::max(roof, one.roof);
    }
    if (shares.empty()) continue;
    out += hero_number(rate_text(roof) + " GB/s", "the fastest copy: the roof");
    out += hero_number(fmt::format("{:.0f} %", 100 * geometric_mean(shares)),
                       fmt::format("of the roof, geometric mean of {} cold cases", shares.size()));
  }
  if (!out.empty()) return out;
  for (const ladder_run& run : all.ladders) {
    out += hero_number(rate_text(run.times.front().gigabytes_per_second()) + " GB/s", "the copy: the roof");
    out += hero_number(fmt::format("{:.0f} %", 100 * run.times.back().gigabytes_per_second() /
                                                   run.times.front().gigabytes_per_second()),
                       "of the roof on the last rung");
  }
  return out;
}

std::string device_of(const report& all) {
  if (!all.benches.empty()) return all.benches.front().device;
  return all.ladders.empty() ? "no machine" : all.ladders.front().where.device;
}

part machine_part(const report& all) {
  part made{"machine", "The machine", "", "", false};
  for (const bench_run& run : all.benches) made.body += facts_html(run.machine);
  if (all.benches.empty()) {
    for (const ladder_run& run : all.ladders)
      made.body += facts_html({{"Device", run.where.device}, {"Architecture", run.where.arch}});
  }
  return made;
}

part method_part(const report& all) {
  part made{"method", "How it was measured", "", "", false};
  made.body =
      "<p>GB/s are 10<sup>9</sup> bytes per second; bytes read and bytes written are added. The <em>roof</em> is the "
      "fastest of several plain copies in one process with our code, on an equal number of threads, in alternation. A "
      "<em>share</em> is our GB/s over the roof. Times are medians. Cold cases rotate through buffers, so that no "
      "buffer is reused while it is cached. Every element of the first and the last run is checked; wrong results are "
      "marked.</p>\n";
  for (const bench_run& run : all.benches) {
    made.body += fmt::format("<h3>{}</h3>\n", escaped("cornerturn bench, " + run.device + ", " + run.date)) +
                 facts_html(run.method);
  }
  for (const ladder_run& run : all.ladders) {
    made.body += fmt::format("<h3>{}</h3>\n", escaped("cornerturn ladder, " + run.where.device));
    made.body +=
        facts_html({{"Method", run.where.method},
                    {"Repetitions", fmt::format("{}", run.times.empty() ? 0 : run.times.front().milliseconds.size())}});
  }
  return made;
}

std::string contents_of(const std::vector<part>& parts) {
  std::string out;
  for (const part& one : parts) out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", one.id, one.title);
  return out;
}

std::string html_of(const part& one) {
  const std::string title = fmt::format("<h2>{}</h2>\n", one.title);
  const std::string lead = one.lead.empty() ? "" : fmt::format("<p class=\"quiet\">{}</p>\n", one.lead);
  const char* const form =
      one.folded ? "<section id=\"{}\" class=\"folded\">\n<details><summary>{}</summary>\n{}{}</details>\n</section>\n"
                 : "<section id=\"{}\">\n{}{}{}</section>\n";
  return fmt::format(fmt::runtime(form), one.id, title, lead, one.body);
}

// The warnings of `cornerturn bench`.
std::string warning_of(const report& all) {
  constexpr double busy = 0.15;
  std::string out;
  for (const bench_run& run : all.benches) {
    const auto disturbed =
        std::ranges::count_if(run.cases, [](const measured_case& one) { return one.other_cpus > busy; });
    const auto wrong = std::ranges::count_if(run.cases, [](const measured_case& one) { return !one.right; });
    if (disturbed > 0) {
      out += fmt::format(
          "<p class=\"warn\">{} of {} cases were measured while other processes used the CPU: measure them "
          "again.</p>\n",
          disturbed, run.cases.size());
    }
    if (wrong > 0) out += fmt::format("<p class=\"warn\">{} of {} results were WRONG.</p>\n", wrong, run.cases.size());
  }
  return out;
}

std::string subtitle_of(const report& all) {
  std::string out;
  for (const bench_run& run : all.benches) {
    out += fmt::format("{}measured {} with cornerturn {}", out.empty() ? "" : "; ", run.date, run.version);
  }
  return out.empty() ? fmt::format("cornerturn {}", version()) : out;
}

}  // namespace

namespace {

void append_html(std::string& made, char letter) {
  switch (letter) {
    case '<':
      made += "&lt;";
      break;
    case '&':
      made += "&amp;";
      break;
    case '"':
      made += "&quot;";
      break;
    default:
      made += letter;
  }
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string made;
  for (const char letter : one_line(text)) append_html(made, letter);
  return made;
}

std::string name_html(const std::string& from) {
  const std::string name = one_line(from);
  std::string made;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == 'x' && at > 0 && std::isdigit(static_cast<unsigned char>(name[at - 1])) != 0) made += "<wbr>";
    append_html(made, name[at]);
    if (name[at] == '_') made += "<wbr>";
  }
  return made;
}

std::string table_html(const std::string& caption, const std::vector<column>& columns,
                       const std::vector<table_row>& rows) {
  const auto kind = [&columns](std::size_t at) { return columns[at].text ? " class=\"text\"" : ""; };
  std::string out = fmt::format("<div class=\"scroll\"><table><caption>{}</caption>\n<thead><tr>", escaped(caption));
  for (std::size_t at = 0; at < columns.size(); ++at) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", kind(at), columns[at].title);
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const table_row& row : rows) {
    if (row.size() == 1) {
      out += fmt::format("<tr><th scope=\"colgroup\" colspan=\"{}\">{}</th></tr>\n", columns.size(), row[0]);
      continue;
    }
    out += fmt::format("<tr><th scope=\"row\">{}</th>", row[0]);
    for (std::size_t at = 1; at < row.size(); ++at) {
      out += fmt::format("<td data-title=\"{}\"{}>{}</td>", columns[at].title, kind(at), row[at]);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string set_title(const measured_case& one) {
  static const std::map<std::string, const char*> words = {
      {"plain", "plain matrices"},
      {"pow2", "powers of two"},
      {"odd", "odd sides or padded rows"},
      {"odd_small", "odd sides, 1 and 2 bytes"},
      {"small_types", "elements of 1 and 2 bytes"},
      {"skinny", "few columns or rows"},
      {"batched", "batches of small matrices"},
      {"rank_n", "permutations, rank 3 to 6"},
      {"rank_many", "permutations, rank 7 to 16"},
      {"odd_elements", "elements of odd sizes"},
      {"small", "small, in a CUDA graph"},
      {"hot", "in cache"},
      {"ad_hoc", "matrices"},
      {"in_place_square", "squares in place"},
      {"in_place_rectangle", "rectangles in place"},
      {"random_matrix", "random matrices"},
      {"random_skinny", "random, few columns or rows"},
      {"random_rank", "random permutations"},
      {"random_copy", "random copies of runs"},
      {"random_batch", "random batches"},
      {"random_in_place", "random, in place"},
      {"random_odd", "random, elements of odd sizes"},
  };
  const auto found = words.find(one.set);
  std::string title = found == words.end() ? one.set : found->second;
  if (one.set == "ad_hoc" && one.hot) title = "matrices, in cache";
  if (one.threads > 0) title += fmt::format(", {} thread{}", one.threads, one.threads == 1 ? "" : "s");
  return title;
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string row_id(const bench_run& run, const measured_case& one) {
  return fmt::format("case-{}-{}{}", &one - run.cases.data(), run.arch.empty() ? "cpu" : "gpu", run.date);
}

std::string rate_text(double rate) { return fmt::format("{:.{}f}", rate, rate >= 100 ? 0 : rate >= 10 ? 1 : 2); }

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

const model::architecture& architecture_of(const report& all) {
  const model::architecture* found = nullptr;
  for (const ladder_run& run : all.ladders) found = found != nullptr ? found : model::find_architecture(run.where.arch);
  for (const bench_run& run : all.benches) found = found != nullptr ? found : model::find_architecture(run.arch);
  return found != nullptr ? *found : *model::find_architecture("sm_90");
}

std::string page_of(const report& all) {
  std::string footer = fmt::format("Made by cornerturn {}", version());
  for (const std::string& file : all.files) footer += (&file == &all.files.front() ? " from " : ", ") + file;
  std::vector<part> parts = {
      peers_part(all.benches), worst_part(all.benches), changes_part(all),        spread_part(all.benches),
      sizes_part(all.benches), cases_part(all.benches), ladder_part(all.ladders), prediction_part(all),
      banks_part(all),         machine_part(all),       method_part(all),
  };
  std::erase_if(parts, [](const part& one) { return one.body.empty(); });
  std::string body;
  for (const part& one : parts) body += html_of(one);
  const std::map<std::string, std::string> fields = {
      {"title", escaped("Transposes on " + device_of(all))},
      {"subtitle", escaped(subtitle_of(all))},
      {"warning", warning_of(all)},
      {"hero", hero_of(all)},
      {"contents", contents_of(parts)},
      {"parts", body},
      {"footer", escaped(footer) + "."},
  };
  std::string out;
  std::string_view rest = report_template;
  for (;;) {
    const auto open = rest.find("{{");
    out += rest.substr(0, open);
    if (open == std::string_view::npos) return out;
    const auto close = rest.find("}}", open);
    out += fields.at(std::string(rest.substr(open + 2, close - open - 2)));
    rest.remove_prefix(close + 2);
  }
}

}  // namespace cornerturn::cli
