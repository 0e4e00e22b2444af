// The ladder as bars, and a table of predicted and measured values.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "explain_kernel.hpp"
#include "report.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

// Calls body for each shape of a run: the rungs from one 00_copy to the rung before the next 00_copy.
template <class Body>
void each_shape(const ladder_run& run, const Body& body) {
  for (std::size_t from = 0; from < run.times.size();) {
    std::size_t to = from + 1;
    while (to < run.times.size() && run.times[to].rung != "00_copy") ++to;
    body(std::span(run.times).subspan(from, to - from));
    from = to;
  }
}

std::string bar(const ladder::timing& one, double roof, double longest) {
  const double rate = one.gigabytes_per_second();
  const bool is_roof = one.rung == "00_copy";
  std::string name = name_html(one.rung);
  if (!one.note.empty()) name += fmt::format("<small>{}</small>", escaped(one.note));
  return fmt::format(
      "<div class=\"row\"><span class=\"name\">{}</span><span class=\"value\" title=\"quartiles {} to {}\">{} "
      "GB/s</span><span class=\"value\">{:.1f} %</span><span class=\"lane\"><div class=\"track\"><i{} "
      "style=\"width:{:.2f}%\"></i></div></span></div>\n",
      name, rate_text(one.first_quartile()), rate_text(one.third_quartile()), rate_text(rate), 100 * rate / roof,
      is_roof ? " class=\"roof\"" : "", 100 * rate / longest);
}

std::string title_of(const ladder_run& run, const ladder::timing& first) {
  std::string title = fmt::format("{}, {}", ladder::text_of(first.shape), elements_text(first.word_bytes));
  if (run.where.threads > 0) {
    title += fmt::format(", {} thread{}", run.where.threads, run.where.threads == 1 ? "" : "s");
  }
  return title;
}

const ladder::cpu_rung* cpu_rung_of(const ladder::timing& one) {
  const auto rungs = ladder::cpu_rungs();
  const auto found = std::ranges::find_if(
      rungs, [&](const ladder::cpu_rung& rung) { return rung.name == one.rung && rung.word_bytes == one.word_bytes; });
  return found == rungs.end() ? nullptr : &*found;
}

// An ordinary store loads its cache line first. The table compares this traffic with the necessary traffic.
std::string cpu_table(std::span<const ladder::timing> times, const std::string& title) {
  std::vector<table_row> rows;
  for (const ladder::timing& one : times) {
    const ladder::cpu_rung* const rung = cpu_rung_of(one);
    if (rung == nullptr) continue;
    rows.push_back({name_html(one.rung), fmt::format("{}", rung->lines), fmt::format("{:.0f} %", 200.0 / rung->lines),
                    percent_text(one.gigabytes_per_second() / times.front().gigabytes_per_second())});
  }
  if (rows.empty()) return {};
  return table_html(title, {{"rung"}, {"lines transferred per line"}, {"predicted: at most"}, {"measured"}}, rows);
}

std::string sectors_cell(const model::global_count& count, bool by_tensor) {
  if (by_tensor) return "TMA";
  return fmt::format("{:.1f} <span class=\"quiet\">{:.0f} %</span>", count.lines_per_request(), 100 * count.useful());
}

// Not the CuTe rungs: every build makes the same page of a result file, and only builds with CUTLASS can predict these.
const ladder::description* gpu_rung_of(const ladder::timing& one) {
  const auto is_it = [&](const ladder::description& rung) { return rung.rung == one.rung; };
  const bool is_cute = std::ranges::any_of(ladder::cute_rungs(), is_it);
  return is_cute ? nullptr : ladder::find_rung(one.rung, one.word_bytes);
}

std::string gpu_table(std::span<const ladder::timing> times, const std::string& title,
                      const model::architecture& machine) {
  const std::string lines = words_of(machine).lines;
  std::vector<table_row> rows;
  for (const ladder::timing& one : times) {
    const ladder::description* const rung = gpu_rung_of(one);
    if (rung == nullptr || !ladder::refusal(*rung, machine, one.shape).empty()) continue;
    const model::traffic t = ladder::predict(*rung, machine, one.shape);
    const bool async = t.async_load.requests > 0;
    rows.push_back({name_html(one.rung), sectors_cell(async ? t.async_load : t.load, rung->tensor_load),
                    sectors_cell(t.store, rung->tensor_store),
                    fmt::format("{:.1f}", t.shared_load.conflicts_per_request()),
                    fmt::format("{:.1f}", (async ? t.async_store : t.shared_store).conflicts_per_request()),
                    fmt::format("{:.0f} %", 100 * ladder::residency(*rung, machine).occupancy),
                    percent_text(one.gigabytes_per_second() / times.front().gigabytes_per_second())});
  }
  if (rows.empty()) return {};
  return table_html(title,
                    {{"rung"},
                     {lines + ", load"},
                     {lines + ", store"},
                     {"conflicts, load"},
                     {"conflicts, store"},
                     {"occupancy"},
                     {"share of the copy"}},
                    rows);
}

// The model has the DRAM rate of one product. Other products of the architecture differ, so they get no floor.
const model::architecture* product_of(const bench_run& run) {
  const model::architecture* const machine = model::find_architecture(run.arch);
  if (machine == nullptr) return nullptr;
  const std::string_view product = machine->product;
  return run.device.find(product.substr(0, product.find(' '))) == std::string::npos ? nullptr : machine;
}

std::string floors(const bench_run& run, const model::architecture& machine) {
  std::vector<table_row> rows;
  for (const group& of : groups_of(run)) {
    std::vector<double> ours, copies;
    for (const measured_case* one : of.cases) {
      if (one->hot) continue;
      const double floor_rate = 2e-9 * static_cast<double>(one->bytes) / model::dram_floor(machine, one->bytes);
      ours.push_back(one->gigabytes_per_second / floor_rate);
      copies.push_back(one->roof / floor_rate);
    }
    if (ours.empty()) continue;
    rows.push_back({escaped(of.title), fmt::format("{}", ours.size()), percent_text(geometric_mean(copies)),
                    percent_text(geometric_mean(ours)), percent_text(*std::ranges::min_element(ours))});
  }
  if (rows.empty()) return "";
  return fmt::format(
             "<p>Prediction: each byte is read once and written once at no more than {:.0f} GB/s, the data sheet's "
             "rate "
             "of the {}. Measured: shares of this bound, for the best copy and for us.</p>\n",
             machine.dram_gigabytes_per_second, machine.product) +
         table_html("Shares of the data sheet's rate", {{"class"}, {"cases"}, {"copy"}, {"ours"}, {"ours, worst"}},
                    rows);
}

}  // namespace

part ladder_part(const std::vector<ladder_run>& runs) {
  part made{
      "ladder", "The ladder",
      "From two plain loops to the library; each rung adds one idea. The first bar is the roof: a copy of equally "
      "many bytes, without a transpose.",
      "", true};
  for (const ladder_run& run : runs) {
    each_shape(run, [&](std::span<const ladder::timing> times) {
      const double roof = times.front().gigabytes_per_second();
      double longest = roof;
      for (const ladder::timing& one : times) longest = std::max(longest, one.gigabytes_per_second());
      made.body += fmt::format("<h3>{}</h3>\n<div class=\"bars\">\n", title_of(run, times.front()));
      for (const ladder::timing& one : times) made.body += bar(one, roof, longest);
      made.body += "</div>\n";
    });
  }
  return made;
}

part prediction_part(const report& all) {
  part made{"prediction", "Predicted against measured", "", "", true};
  for (const ladder_run& run : all.ladders) {
    const bool on_cpu = run.where.threads > 0;
    std::string tables;
    each_shape(run, [&](std::span<const ladder::timing> times) {
      const std::string title = title_of(run, times.front());
      tables += on_cpu ? cpu_table(times, title) : gpu_table(times, title, architecture_of(all));
    });
    if (tables.empty()) continue;
    made.body +=
        on_cpu ? "<p>The prediction counts traffic only: a line of the source is read, a line of the destination is "
                 "written, and an ordinary store reads its line first. A rung with three lines reaches at most 67 % of "
                 "a copy with two. Latency, address translation and early cache evictions explain lower "
                 "values.</p>\n"
               : "<p>The model predicts on the host: sectors of 32 bytes per request and their useful share, bank "
                 "conflicts per request, and occupancy. Measured: the share of the copy.</p>\n";
    made.body += tables;
  }
  for (const bench_run& run : all.benches) {
    if (const model::architecture* const machine = product_of(run)) made.body += floors(run, *machine);
  }
  return made;
}

}  // namespace cornerturn::cli
