// Other libraries: each on its supported cases, with our results on these cases.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

struct peer {
  std::string name;
  std::vector<double> theirs, ours, faster;  // shares of the copy; ours over theirs
};

// Cases in cache count only in runs without any other.
std::vector<peer> peers_of(const bench_run& run) {
  const bool all_hot = std::ranges::all_of(run.cases, [](const measured_case& one) { return one.hot; });
  std::vector<peer> peers;
  for (const measured_case& one : run.cases) {
    if (one.hot && !all_hot) continue;
    for (const auto& [name, rate] : one.peers) {
      if (rate <= 0 || one.roof <= 0 || !one.right) continue;
      auto found = std::ranges::find(peers, name, &peer::name);
      if (found == peers.end()) found = peers.insert(peers.end(), {name, {}, {}, {}});
      found->theirs.push_back(rate / one.roof);
      found->ours.push_back(one.share);
      found->faster.push_back(one.gigabytes_per_second / rate);
    }
  }
  std::ranges::stable_sort(peers, {}, [](const peer& one) { return geometric_mean(one.faster); });
  return peers;
}

std::string bar_of(const peer& one, double longest) {
  const double theirs = geometric_mean(one.theirs), ours = geometric_mean(one.ours);
  return fmt::format(
      "<div class=\"row\"><span class=\"name\">{}<small>{}</small></span><span class=\"value\">{} "
      "<span class=\"quiet\">ours {}</span></span><span class=\"value strong\">{:.2f} x</span><span class=\"lane "
      "pair\">"
      "<div class=\"track\"><i class=\"peer\" style=\"width:{:.2f}%\"></i></div><div class=\"track\"><i "
      "style=\"width:{:.2f}%\"></i></div></span></div>\n",
      escaped(peer_title(one.name)), count_text(one.theirs.size(), "case"), percent_text(theirs), percent_text(ours),
      geometric_mean(one.faster), 100 * theirs / longest, 100 * ours / longest);
}

table_row row_of(const peer& one) {
  const auto ahead = std::ranges::count_if(one.faster, [](double ratio) { return ratio < 1; });
  return {escaped(peer_title(one.name)),
          fmt::format("{}", one.faster.size()),
          fmt::format("{:.2f} x", geometric_mean(one.faster)),
          fmt::format("{:.2f} x", *std::ranges::min_element(one.faster)),
          fmt::format("{:.2f} x", *std::ranges::max_element(one.faster)),
          count_text(ahead, "case")};
}

}  // namespace

std::string peer_title(const std::string& name) {
  static const std::map<std::string, const char*> words = {
      {"cublas_geam", "cuBLAS geam"},
      {"cutensor", "cuTENSOR"},
      {"cutensor_jit", "cuTENSOR JIT"},
      {"pytorch", "PyTorch"},
      {"cupy", "CuPy"},
      {"jax", "JAX"},
      {"openblas_omatcopy", "OpenBLAS"},
      {"eigen_matrix", "Eigen matrix"},
      {"eigen_shuffle", "Eigen shuffle"},
      {"fftw_estimate", "FFTW estimate"},
      {"fftw_measure", "FFTW measure"},
      {"onednn_reorder", "oneDNN reorder"},
      {"hptt_estimate", "HPTT estimate"},
  };
  const auto found = words.find(name);
  return found == words.end() ? name : found->second;
}

std::string best_peer_text(const measured_case& one) {
  const auto best = std::ranges::max_element(one.peers, {}, [](const auto& peer) { return peer.second; });
  return best == one.peers.end() ? "" : fmt::format("{} {}", peer_title(best->first), rate_text(best->second));
}

part peers_part(const std::vector<bench_run>& runs) {
  part made{"peers", "Beside other libraries", "", "", false};
  for (const bench_run& run : runs) {
    const std::vector<peer> peers = peers_of(run);
    if (peers.empty()) continue;
    double longest = 1;
    for (const peer& one : peers) longest = std::max({longest, geometric_mean(one.theirs), geometric_mean(one.ours)});
    made.body +=
        "<div class=\"bars\">\n<div class=\"row quiet\"><span class=\"name\">library</span><span "
        "class=\"value\">share of the copy</span><span class=\"value\">faster by</span><span "
        "class=\"lane\"></span></div>\n";
    std::vector<table_row> rows;
    for (const peer& one : peers) {
      made.body += bar_of(one, longest);
      rows.push_back(row_of(one));
    }
    made.body +=
        "</div>\n" + table_html("Our speed over the library's speed, over its cases",
                                {{"library"}, {"cases"}, {"typical"}, {"least"}, {"most"}, {"it is ahead in"}}, rows);
  }
  if (!made.body.empty()) {
    made.lead =
        "The upper bar is the library's share of the copy, the lower bar is ours in the same cases. Both are geometric "
        "means over the cases out of cache that the library supports.";
  } else if (!runs.empty()) {
    made.body =
        "<p>No other library was measured. A build with <code>-DCORNERTURN_PEERS=ON</code> links the libraries that it "
        "finds; <code>./dev bench</code> makes such a build. <code>python -m cornerturn bench</code> "
        "measures the installed frameworks of Python, also from a wheel.</p>\n";
  }
  return made;
}

}  // namespace cornerturn::cli
