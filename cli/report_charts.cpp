// Charts: bandwidth against size, and a dot for every case.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

constexpr const char* chart_key =
    "<div class=\"key chart\"><span><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><circle class=\"ours\" cx=\"7\" "
    "cy=\"7\" "
    "r=\"5\"/></svg>cornerturn</span><span><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><path class=\"roof\" "
    "d=\"M1 7H13\"/></svg>best copy</span>{}</div>\n";
constexpr const char* peer_key =
    "<span><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><circle class=\"peer\" cx=\"7\" cy=\"7\" r=\"4.5\"/></svg>"
    "best peer</span>";

// Returns matrices with sides of 256 and more, out of cache.
std::vector<const measured_case*> matrices_of(const bench_run& run, int threads) {
  std::vector<const measured_case*> found;
  for (const measured_case& one : run.cases) {
    const std::string sides = one.shape.substr(0, one.shape.find(" ld"));
    const auto shape = parse_shape(sides);
    if (!shape || shape->size() != 2 || one.hot || one.threads != threads) continue;
    if (std::min(shape->front(), shape->back()) >= 256) found.push_back(&one);
  }
  std::ranges::sort(found, {}, [](const measured_case* one) { return one->bytes; });
  return found;
}

std::string size_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

double step_for(double most) {  // 1, 2 or 5 times a power of ten, so that an axis up to `most` has at most five steps
  const double power = std::pow(10, std::floor(std::log10(most / 5)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (most / (times * power) <= 5) return times * power;
  }
  return 10 * power;
}

struct plot {
  int width, height;
  double least, most;  // log2 of bytes
  double top;          // GB/s
  static constexpr int left = 48, right = 12, above = 10, below = 28;

  [[nodiscard]] double x(double bytes) const {
    return left + (std::log2(bytes) - least) / (most - least) * (width - left - right);
  }
  [[nodiscard]] double y(double rate) const { return above + (1 - rate / top) * (height - above - below); }
};

std::string axes_of(const plot& on) {
  std::string out;
  const double step = step_for(on.top);
  for (int mark = 0; mark <= 5 && mark * step <= on.top * 1.0001; ++mark) {
    const double rate = mark * step;
    out += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:g}</text>\n",
        plot::left, on.width - plot::right, on.y(rate), on.y(rate), plot::left - 6, on.y(rate) + 4, rate);
  }
  const int every = std::max(1, static_cast<int>(std::ceil((on.most - on.least) / (on.width > 500 ? 9 : 4))));
  for (int power = static_cast<int>(std::ceil(on.least)); power <= on.most; power += every) {
    const double bytes = std::exp2(power);
    out += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        on.x(bytes), on.height - plot::below, on.height - plot::below + 4, on.height - plot::below + 18,
        size_text(bytes));
  }
  return out;
}

std::string dots_of(const plot& on, const std::vector<const measured_case*>& cases) {
  std::string roofs, peers, ours;
  for (const measured_case* one : cases) {
    const double x = on.x(static_cast<double>(one->bytes));
    roofs += fmt::format("M{:.1f} {:.1f}h10", x - 5, on.y(one->roof));
    const std::string what = one->shape + ", " + elements_text(one->element_bytes);
    const auto best = std::ranges::max_element(one->peers, {}, [](const auto& peer) { return peer.second; });
    if (best != one->peers.end()) {
      peers += fmt::format(
          "<circle class=\"peer\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}: {} {} GB/s</title></circle>\n", x,
          on.y(best->second), escaped(what), escaped(peer_title(best->first)), rate_text(best->second));
    }
    ours += fmt::format(
        "<circle class=\"ours\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}: {} GB/s, {:.0f} % of the copy"
        "</title></circle>\n",
        x, on.y(one->gigabytes_per_second), escaped(what), rate_text(one->gigabytes_per_second), 100 * one->share);
  }
  return fmt::format("<path class=\"roof\" d=\"{}\"/>\n{}{}", roofs, peers, ours);
}

std::string chart(const std::vector<const measured_case*>& cases, int width, int height, const char* kind) {
  plot on{width, height, 0, 0, 0};
  on.least = std::floor(std::log2(static_cast<double>(cases.front()->bytes)));
  on.most = std::ceil(std::log2(static_cast<double>(cases.back()->bytes)));
  if (on.least == on.most) on.least -= 1, on.most += 1;
  on.least -= 0.2, on.most += 0.2;
  for (const measured_case* one : cases) {
    on.top = std::max({on.top, one->roof, one->gigabytes_per_second});
    for (const auto& [name, rate] : one->peers) on.top = std::max(on.top, rate);
  }
  on.top *= 1.04;
  return fmt::format(
      "<svg class=\"chart {}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"GB/s against the bytes of one "
      "side, for {} matrices\">\n{}{}</svg>\n",
      kind, width, height, cases.size(), axes_of(on), dots_of(on, cases));
}

// The numbers of the chart.
std::string numbers_of(const std::vector<const measured_case*>& cases) {
  std::vector<table_row> rows;
  for (const measured_case* one : cases) {
    rows.push_back({name_html(one->shape), fmt::format("{}", one->element_bytes), bytes_text(one->bytes),
                    rate_text(one->gigabytes_per_second), rate_text(one->roof), percent_text(one->share),
                    escaped(best_peer_text(*one))});
  }
  return "<details><summary>The numbers of the chart</summary>\n" +
         table_html(
             "Matrices by size",
             {{"shape"}, {"bytes"}, {"one side"}, {"GB/s"}, {"copy"}, {"share"}, {"best other library, GB/s", true}},
             rows) +
         "</details>\n";
}

std::string dot_row(const group& of, double longest) {
  std::vector<double> shares;
  std::string dots;
  for (const measured_case* one : of.cases) {
    shares.push_back(one->share);
    dots += fmt::format("<i{} style=\"left:{:.1f}%\" title=\"{}, {}: {} GB/s, {:.1f} %{}\"></i>",
                        one->right ? "" : " class=\"wrong\"", 100 * one->share / longest, escaped(one->shape),
                        elements_text(one->element_bytes), rate_text(one->gigabytes_per_second), 100 * one->share,
                        one->right ? "" : ", WRONG");
  }
  return fmt::format(
      "<div class=\"row\"><span class=\"name\">{}<small>{}</small></span><span class=\"value\">{}</span>"
      "<span class=\"value quiet\">{}</span><span class=\"lane\"><div class=\"track strip\" "
      "style=\"--one:{:.4f}\">{}<u style=\"left:{:.1f}%\"></u></div></span></div>\n",
      escaped(of.title), count_text(of.cases.size(), "case"), percent_text(geometric_mean(shares)),
      percent_text(*std::ranges::min_element(shares)), 1 / longest, dots, 100 * geometric_mean(shares) / longest);
}

std::string table_of(const bench_run& run, const std::vector<group>& groups) {
  std::vector<table_row> rows;
  for (const group& of : groups) {
    rows.push_back({escaped(of.title)});
    for (const measured_case* one : of.cases) {
      rows.push_back({fmt::format("<span id=\"{}\">{}</span>", row_id(run, *one), name_html(one->shape)),
                      fmt::format("{}", one->element_bytes), name_html(one->kernel),
                      rate_text(one->gigabytes_per_second), rate_text(one->roof), percent_text(one->share),
                      (one->right ? "" : "WRONG ") + escaped(best_peer_text(*one))});
    }
  }
  return fmt::format("<details><summary>All {} cases as a table</summary>\n", run.cases.size()) +
         table_html("Every case on " + run.device,
                    {{"shape"},
                     {"bytes"},
                     {"kernel", true},
                     {"GB/s"},
                     {"copy"},
                     {"share"},
                     {"best other library, GB/s", true}},
                    rows) +
         "</details>\n";
}

}  // namespace

std::vector<group> groups_of(const bench_run& run) {
  std::vector<group> groups;
  for (const measured_case& one : run.cases) {
    const std::string title = set_title(one);
    auto found = std::ranges::find(groups, title, &group::title);
    if (found == groups.end()) found = groups.insert(groups.end(), {title, {}});
    found->cases.push_back(&one);
  }
  return groups;
}

part sizes_part(const std::vector<bench_run>& runs) {
  part made{"sizes", "Bandwidth against size", "", "", false};
  for (const bench_run& run : runs) {
    std::set<int> numbers;
    for (const measured_case& one : run.cases) numbers.insert(one.threads);
    for (const int threads : numbers) {
      const auto cases = matrices_of(run, threads);
      if (cases.empty()) continue;
      const bool peers = std::ranges::any_of(cases, [](const measured_case* one) { return !one->peers.empty(); });
      if (threads > 0) made.body += fmt::format("<h3>{}</h3>\n", count_text(threads, "thread"));
      made.body += fmt::format(chart_key, peers ? peer_key : "");
      made.body +=
          "<figure>\n<div class=\"scroll\">" + chart(cases, 980, 360, "wide") + chart(cases, 340, 300, "narrow");
      made.body += fmt::format(
          "</div><figcaption>GB/s, read and written, against the bytes of one side: {} matri{}, all sides of "
          "256 or more, out of cache.</figcaption>\n</figure>\n",
          cases.size(), cases.size() == 1 ? "x" : "ces");
      made.body += numbers_of(cases);
    }
  }
  return made;
}

part cases_part(const std::vector<bench_run>& runs) {
  part made{"cases", "Every case",
            "Each dot is the share of one case: its GB/s over the best copy of an equal number of bytes. Lines mark "
            "quarters of the copy, and the long mark the geometric mean.",
            "", false};
  for (const bench_run& run : runs) {
    const auto groups = groups_of(run);
    if (groups.empty()) continue;
    double longest = 1;
    for (const measured_case& one : run.cases) longest = std::max(longest, one.share);
    made.body +=
        "<div class=\"bars\">\n<div class=\"row quiet\"><span class=\"name\">share of the copy</span><span "
        "class=\"value\">typical</span><span class=\"value\">worst</span><span class=\"lane\"></span></div>\n";
    for (const group& one : groups) made.body += dot_row(one, longest);
    made.body += "</div>\n" + table_of(run, groups);
  }
  return made;
}

}  // namespace cornerturn::cli
