// cornerturn_ladder: the rungs on this machine's GPU.
//
//   cornerturn_ladder --help
//   cornerturn_ladder --check
//   cornerturn_ladder --where                                              the GPU: name,arch
//   cornerturn_ladder --time [--shape RxC]... [--bytes N] [--repeat N] [--json] [-o FILE]
//   cornerturn_ladder --profile RUNG|all [--shape RxC]... [--bytes N]
//   cornerturn_ladder --predict RUNG|all [--shape RxC]... [--bytes N] [--arch NAME]       needs no GPU
#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>

#include "device.hpp"
#include "harness.hpp"
#include "prediction.hpp"

namespace cornerturn::ladder {
namespace {

constexpr const char* usage =
    "cornerturn_ladder --check | --where | --help\n"
    "                  --time [--shape RxC]... [--bytes 1|2|4|8] [--repeat N] [--json] [-o FILE | --output FILE]\n"
    "                  --profile RUNG|all [--shape RxC]... [--bytes 1|2|4|8]\n"
    "                  --predict RUNG|all [--shape RxC]... [--bytes 1|2|4|8] [--arch sm_90|gfx90a|...]\n"
    "A shape is ROWSxCOLS, or BATCHxROWSxCOLS for batched rungs. --json prints the times as one JSON value on stdout,\n"
    "and the table on stderr. -o writes this value to a file.\n";

struct options {
  bool check = false;
  bool where = false;
  bool time = false;
  bool help = false;
  std::string profile;
  std::string predict;
  std::vector<matrix_shape> shapes;
  int word_bytes = 4;
  int repetitions = 9;
  bool json = false;
  std::string output;  // a result file; empty: none
  std::string arch = "sm_90";
};

std::optional<std::vector<std::int64_t>> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (const char *at = text.data(), *end = at + text.size();;) {
    std::int64_t number = 0;
    const auto [next, fault] = std::from_chars(at, end, number);
    if (fault != std::errc{} || number <= 0) return std::nullopt;
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != 'x') return std::nullopt;
    at = next + 1;
  }
}

matrix_shape shape_of(std::string_view text) {
  const auto numbers = numbers_of(text);
  if (!numbers || numbers->size() < 2 || numbers->size() > 3) {
    throw std::invalid_argument("\"" + std::string(text) + "\" is not a shape such as 1000x50");
  }
  const auto& n = *numbers;
  return n.size() == 2 ? matrix_shape{n[0], n[1]} : matrix_shape{n[1], n[2], n[0]};
}

int number_of(std::string_view text) {
  const auto numbers = numbers_of(text);
  if (!numbers || numbers->size() != 1 || numbers->front() > 1000000) {
    throw std::invalid_argument("\"" + std::string(text) + "\" is not a number from 1 to 1000000");
  }
  return static_cast<int>(numbers->front());
}

options read(int argc, char** argv) {
  options asked;
  const std::map<std::string_view, bool*> flags = {{"--check", &asked.check}, {"--where", &asked.where},
                                                   {"--time", &asked.time},   {"--json", &asked.json},
                                                   {"--help", &asked.help},   {"-h", &asked.help}};
  const auto text = [](std::string& to) { return [&to](std::string_view value) { to = value; }; };
  const auto number = [](int& to) { return [&to](std::string_view value) { to = number_of(value); }; };
  const std::map<std::string_view, std::function<void(std::string_view)>> values = {
      {"--profile", text(asked.profile)},
      {"--predict", text(asked.predict)},
      {"--arch", text(asked.arch)},
      {"-o", text(asked.output)},
      {"--output", text(asked.output)},
      {"--bytes", number(asked.word_bytes)},
      {"--repeat", number(asked.repetitions)},
      {"--shape", [&](std::string_view value) { asked.shapes.push_back(shape_of(value)); }}};
  for (int k = 1; k < argc; ++k) {
    const std::string_view name = argv[k];
    if (const auto flag = flags.find(name); flag != flags.end()) {
      *flag->second = true;
    } else if (const auto value = values.find(name); value != values.end()) {
      if (++k == argc || *argv[k] == '\0') throw std::invalid_argument(std::string(name) + " has no value");
      value->second(argv[k]);
    } else {
      throw std::invalid_argument("\"" + std::string(name) + "\" is not an option");
    }
  }
  if (asked.help) return asked;
  const int bytes = asked.word_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
    throw std::invalid_argument("--bytes is " + std::to_string(bytes) + ", wanted 1, 2, 4 or 8");
  }
  if ((asked.json || !asked.output.empty()) && !asked.time) {
    throw std::invalid_argument("--json or -o is given without --time, wanted both");
  }
  if (asked.json && asked.output == "-") {
    throw std::invalid_argument("--json and -o - both write to stdout, wanted one of them");
  }
  if (!asked.check && !asked.time && !asked.where && asked.profile.empty() && asked.predict.empty()) {
    throw std::invalid_argument("nothing to do");
  }
  return asked;
}

std::vector<matrix_shape> shapes_of(const options& asked, std::vector<matrix_shape> usual) {
  return asked.shapes.empty() ? usual : asked.shapes;
}

std::invalid_argument no_such_rung(const std::string& name, int word_bytes) {
  return std::invalid_argument("no rung \"" + name + "\" for elements of " + std::to_string(word_bytes) +
                               " bytes accepts these shapes");
}

void predict(const options& asked) {
  const auto shapes = shapes_of(asked, {{2048, 2048}});
  const model::architecture* const machine = model::find_architecture(asked.arch);
  if (machine == nullptr) throw std::invalid_argument("the model has no architecture " + asked.arch);
  if (print_predictions(std::cout, asked.predict, asked.word_bytes, shapes, *machine) == 0) {
    throw no_such_rung(asked.predict, asked.word_bytes);
  }
}

void profile(const options& asked) {
  std::vector<const launcher*> rungs;
  for (const launcher& one : launchers()) {
    if (one.word_bytes != asked.word_bytes) continue;
    if (asked.profile == "all" || asked.profile == one.rung) rungs.push_back(&one);
  }
  const auto shapes = shapes_of(asked, {{2048, 2048}});
  const auto takes_one = [&](const launcher* rung) {
    return std::ranges::any_of(shapes, [&](const matrix_shape& shape) { return rung->takes(shape); });
  };
  if (std::ranges::none_of(rungs, takes_one)) throw no_such_rung(asked.profile, asked.word_bytes);
  launch_for_profiler(std::cout, rungs, shapes);
}

void time(const options& asked) {
  std::vector<timing> times;
  for (const matrix_shape& shape : shapes_of(asked, {{8192, 8192}, {16384, 16384}})) {
    const auto more = time_rungs(shape, asked.word_bytes, asked.repetitions);
    times.insert(times.end(), more.begin(), more.end());
  }
  const bool prints_json = asked.json || asked.output == "-";
  print_table(prints_json ? std::cerr : std::cout, times);
  if (prints_json) write_json(std::cout, this_device(), times);
  if (asked.output.empty() || asked.output == "-") return;
  std::ofstream file(asked.output);
  write_json(file, this_device(), times);
  if (!file.flush()) throw std::runtime_error("cannot write " + asked.output);
}

}  // namespace

void launch_for_profiler(std::ostream& out, const std::vector<const launcher*>& rungs,
                         const std::vector<matrix_shape>& shapes) {
  for (const matrix_shape& shape : shapes) {
    for (const launcher* rung : rungs) {
      if (!rung->takes(shape)) continue;
      const auto bytes = static_cast<std::size_t>(shape.rows * shape.cols * shape.batch * rung->word_bytes);
      const device_buffer src(bytes), dst(bytes);
      check(gpu_runtime::set_bytes(src.get(), 1, bytes));
      check(rung->launch(src.get(), rung->is_in_place ? src.get() : dst.get(), shape, nullptr));
      check(gpu_runtime::synchronize());
      out << rung->rung << ' ' << rung->word_bytes << ' ' << text_of(shape) << std::endl;
    }
  }
}

}  // namespace cornerturn::ladder

int main(int argc, char** argv) {
  using namespace cornerturn::ladder;
  try {
    const options asked = read(argc, argv);
    if (asked.help) {
      std::cout << usage;
      return 0;
    }
    const bool failed = asked.check && check_rungs(std::cout) != 0;
    if (asked.where) std::cout << this_device().device << ',' << this_device().arch << '\n';
    if (!asked.predict.empty()) predict(asked);
    if (!asked.profile.empty()) profile(asked);
    if (asked.time) time(asked);
    return failed ? 1 : 0;
  } catch (const std::invalid_argument& fault) {
    std::cerr << "cornerturn_ladder: " << fault.what() << '\n' << usage;
    return 2;
  } catch (const std::exception& fault) {
    std::cerr << "cornerturn_ladder: " << fault.what() << '\n';
    return 1;
  }
}
