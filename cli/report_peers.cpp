// Other libraries: each on its supported cases, with our results on these cases.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report.hpp"

namespace cornerturn::cli {
namespace {

struct peer {
  std::string name;
  std::vector<double> theirs, ours, faster;  // shares of the copy; ours over theirs
};

std::vector<peer> peers_of(const bench_run& run) {
  std::vector<peer> peers;
  for (const measured_case& one : run.cases) {
    for (const auto& [name, rate] : one.peers) {
      if (rate <= 0 || one.roof <= 0 || !one.right) continue;
      auto found = std::ranges::find(peers, name, &peer::name);
      if (found == peers.end()) found = peers.insert(peers.end(), {name, {}, {}, {}});
      found->theirs.push_back(rate / one.roof);
      found->ours.push_back(one.share);
      found->faster.push_back(one.gigabytes_per_second / rate);
    }
  }
  return peers;
}

std::string row_of(const peer& one, double longest) {
  const double theirs = geometric_mean(one.theirs), ours = geometric_mean(one.ours);
  return fmt::format(
      "<div class=\"row\"><span class=\"name\">{}<small>{} case{}</small></span><span class=\"value\">{:.1f} % "
      "<span class=\"quiet\">ours {:.1f} %</span></span><span class=\"value\">{:.2f} x</span><span class=\"lane pair\">"
      "<div class=\"track\"><i class=\"peer\" style=\"width:{:.2f}%\"></i></div><div class=\"track\"><i "
      "style=\"width:{:.2f}%\"></i></div></span></div>\n",
      escaped(peer_title(one.name)), one.theirs.size(), one.theirs.size() == 1 ? "" : "s", 100 * theirs, 100 * ours,
      geometric_mean(one.faster), 100 * theirs / longest, 100 * ours / longest);
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

std::string peers_section(const std::vector<bench_run>& runs) {
  std::string body;
  for (const bench_run& run : runs) {
    const std::vector<peer> peers = peers_of(run);
    if (peers.empty()) continue;
    double longest = 1;
    for (const peer& one : peers) longest = std::max({longest, geometric_mean(one.theirs), geometric_mean(one.ours)});
    body += "<div class=\"bars\">\n";
    for (const peer& one : peers) body += row_of(one, longest);
    body += "</div>\n";
  }
  const std::string title = "Beside other libraries";
  if (!body.empty()) {
    return section(
        title,
        "Geometric means of shares of the copy on the library's supported cases: the library (upper bar) and ours "
        "(lower bar). The last column is our speed over the library's.",
        body);
  }
  if (runs.empty()) return "";
  return section(
      title, "",
      "<p>No other library was measured. A build with <code>-DCORNERTURN_PEERS=ON</code> links the libraries that "
      "it finds; <code>./dev bench</code> makes such a build.</p>\n");
}

}  // namespace cornerturn::cli
