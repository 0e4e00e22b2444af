#include "app.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>

#include "bench/bench.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/system.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

// Makes the options of one subcommand. The callbacks that fill them share the ownership.
template <class Options>
std::shared_ptr<Options> make_options() {
  return std::make_shared<Options>();
}

// A range check that --help does not print: its bounds only reject absurd values.
CLI::Validator between(std::int64_t least, std::int64_t most) { return CLI::Range(least, most).description(""); }

void add_axes(CLI::App* command, std::optional<std::vector<int>>& axes) {
  command
      ->add_option_function<std::string>(
          "--axes",
          [&axes](const std::string& text) {
            axes = parse_axes(text);
            if (!axes) throw CLI::ValidationError("--axes", "\"" + text + "\" is not a list of integers such as 2,0,1");
          },
          "Axis k of the output is axis AXES[k] of the input, as in numpy.transpose. Default: reversed order")
      ->type_name("LIST");
}

void add_shape(CLI::Option* option) { option->type_name("SHAPE"); }

std::function<void(const std::string&)> shape_reader(std::vector<std::int64_t>& shape, const char* name) {
  return [&shape, name](const std::string& text) {
    const auto parsed = parse_shape(text);
    if (!parsed) throw CLI::ValidationError(name, "\"" + text + "\" is not a shape such as 4096x2048");
    shape = *parsed;
  };
}

void add_threads(CLI::App* command, int& threads) {
  command->add_option("--threads", threads, "Maximum number of threads. Default: all threads of this process")
      ->check(between(1, 4096))
      ->type_name("N");
}

void add_json(CLI::App* command, bool& json) { command->add_flag("--json", json, "Print one JSON value on stdout"); }

void add_transpose(CLI::App& app, command_line& chosen) {
  auto options = make_options<transpose_options>();
  CLI::App* command = app.add_subcommand("transpose", "Transpose the array of an .npy file into another .npy file");
  command->add_option("IN", options->input, "The .npy file to read: version 1.0 to 3.0, any dtype of fixed size")
      ->required()
      ->type_name("FILE");
  command->add_option("OUT", options->output, "The .npy file to write. It only appears after all of it is written")
      ->required()
      ->type_name("FILE");
  add_axes(command, options->axes);
  add_threads(command, options->threads);
  command->add_option("--device", options->device, "Device that transposes the data: auto, cpu or cuda. Default: auto")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->type_name("NAME");
  command->add_flag("--verify", options->verify,
                    "Read the output back and compare every element with the input. A mismatch leaves no output");
  command->add_flag("--metadata-only", options->metadata_only,
                    "Copy the data unchanged and transpose in the header: C order becomes Fortran order");
  add_json(command, options->json);
  command->add_flag("--quiet", options->quiet, "Print nothing but errors");
  command->footer(
      "The output is in C order; a Fortran-order input is read with its strides. --metadata-only works if\n"
      "all axes are reversed, or if only axes of extent 1 change position.");
  command->callback([options, &chosen] { chosen.action = [options] { return run_transpose(*options); }; });
}

// A shape selects the explanation of a plan. Any other word names a kernel of the ladder.
void parse_explained(explain_options& options, const std::string& text) {
  if (const auto parsed = parse_shape(text)) {
    options.shape = *parsed;
  } else {
    options.kernel = text;
  }
}

void add_explain(CLI::App& app, command_line& chosen) {
  auto options = make_options<explain_options>();
  CLI::App* command = app.add_subcommand("explain", "Show the kernel for a shape, or the memory accesses of a kernel");
  CLI::Option* what =
      command
          ->add_option_function<std::string>(
              "SHAPE|KERNEL", [options](const std::string& text) { parse_explained(*options, text); },
              "The shape of the source: 4096x2048, 64x56x56x256. Or a GPU row of `cornerturn kernels`, or a rung "
              "of the ladder: 30_padded")
          ->type_name("");
  add_axes(command, options->axes);
  command->add_option("--bytes", options->element_bytes, "Bytes of one element. Default: 4")
      ->check(between(1, std::int64_t{1} << 40))
      ->type_name("N");
  add_threads(command, options->threads);
  command->add_option("--src-ld", options->src_ld, "Elements between rows of the source matrix. Default: packed")
      ->check(between(0, std::int64_t{1} << 60))
      ->type_name("N");
  command->add_option("--dst-ld", options->dst_ld, "Elements between rows of the transposed matrix. Default: packed")
      ->check(between(0, std::int64_t{1} << 60))
      ->type_name("N");
  command
      ->add_option("--machine", options->machine,
                   "The plan for \"cpu\", or for a GPU of the cost table, which need not be present: H200. Default: "
                   "this machine")
      ->type_name("NAME");
  CLI::Option* all = command->add_flag("--all", options->all, "Compare all rungs of the ladder in one table");
  add_shape(command->add_option_function<std::string>("--shape", shape_reader(options->matrix, "--shape"),
                                                      "The matrix, or array, that KERNEL moves. Default: 2048x2048"));
  command
      ->add_option("--arch", options->arch,
                   "The GPU for KERNEL: sm_75 to sm_120, gfx90a, gfx942, gfx1030, gfx1100. Default: sm_90")
      ->type_name("NAME");
  command->add_option("--svg", options->svg, "Write KERNEL's picture to this SVG file")->type_name("FILE");
  add_json(command, options->json);
  command->callback([=, &chosen] {
    if (*what && *all) throw CLI::ExcludesError("--all", "SHAPE|KERNEL");
    if (!*what && !*all) throw CLI::RequiredError("SHAPE|KERNEL");
    const bool plans = *what && options->kernel.empty();
    for (const char* name : {"--shape", "--arch", "--svg"}) {
      if (plans && command->count(name) > 0) throw CLI::ValidationError(name, "needs a KERNEL or --all");
    }
    chosen.action = [=] { return plans ? run_explain(*options) : run_explain_kernel(*options); };
  });
}

void add_ladder(CLI::App& app, command_line& chosen) {
  auto options = make_options<ladder_options>();
  CLI::App* command =
      app.add_subcommand("ladder", "Run the teaching kernels, from naive to production, on this machine");
  command
      ->add_option("FILE", options->file,
                   "A rung of your own, NAME.cuh, for --device emulated: a changed copy of a file of ladder/. g++ "
                   "compiles it, and the last struct of the file is run")
      ->type_name("");
  command->add_option("--rung", options->rung, "Run this rung only: 30_padded, padded or 30")
      ->excludes("FILE")
      ->type_name("NAME");
  add_shape(command->add_option_function<std::vector<std::string>>(
      "--shape",
      [options](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) shape_reader(options->shapes.emplace_back(), "--shape")(text);
      },
      "A matrix to transpose; can be repeated. Default: 8192x8192 and 16384x16384; CPU: 4096x4096 and 5008x7008; "
      "emulator: every kind of edge, and 256x256 for the counts"));
  command
      ->add_option("--device", options->device,
                   "Device to run on: auto, cpu, cuda, hip or emulated. Default: auto, a GPU if present, else the CPU. "
                   "The emulator needs no GPU: it runs the rungs' text on the host and counts, but does not time")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "hip", "emulated"}))
      ->type_name("NAME");
  command->add_option("--threads", options->threads, "Threads of the CPU. Default: 1")
      ->check(between(1, 4096))
      ->type_name("N");
  command->add_option("--bytes", options->element_bytes, "Bytes of one element: 1, 2, 4 or 8. Default: 4")
      ->check(CLI::IsMember({1, 2, 4, 8}))
      ->type_name("N");
  command->add_option("--repeat", options->repetitions, "Measurements of each rung. Default: 9")
      ->check(between(1, 1000))
      ->type_name("N");
  command->add_flag("--check", options->check, "Check every rung on every kind of edge; measure nothing");
  command->add_option("--json", options->json, "Write the measurements to this file")->type_name("FILE");
  command->callback([options, &chosen] { chosen.action = [options] { return run_ladder(*options); }; });
}

void add_report(CLI::App& app, command_line& chosen) {
  auto options = make_options<report_options>();
  CLI::App* command =
      app.add_subcommand("report", "Measure the ladder, matrix sizes and other libraries, and write a web page");
  command->add_option("-o,--output", options->output, "The .html file to write. It needs no other file and no network")
      ->required()
      ->type_name("FILE");
  CLI::Option* from = command->add_option(
      "--from", options->from,
      "Show this result file of bench --json or ladder --json instead of measuring; can be repeated");
  from->type_name("FILE");
  command->add_flag("--quick", options->quick, "Small matrices and few rounds: fast, but inaccurate")->excludes(from);
  command->callback([options, &chosen] { chosen.action = [options] { return run_report(*options); }; });
}

void add_system(CLI::App& app, command_line& chosen) {
  auto doctor_json = make_options<bool>();
  CLI::App* doctor = app.add_subcommand("doctor", "Describe this build and this machine, for bug reports");
  add_json(doctor, *doctor_json);
  doctor->callback([doctor_json, &chosen] { chosen.action = [doctor_json] { return run_doctor(*doctor_json); }; });

  auto kernels_json = make_options<bool>();
  CLI::App* list = app.add_subcommand("kernels", "List the kernels of this build");
  add_json(list, *kernels_json);
  list->callback([kernels_json, &chosen] { chosen.action = [kernels_json] { return run_kernels(*kernels_json); }; });

  auto options = make_options<roof_options>();
  CLI::App* roof =
      app.add_subcommand("roof", "Measure the fastest plain copy in memory, the upper bound for every transpose");
  roof->add_option("--bytes", options->bytes, "Bytes to copy, one way. Default: 1073741824")
      ->check(between(1, std::int64_t{1} << 46))
      ->type_name("N");
  add_threads(roof, options->threads);
  add_json(roof, options->json);
  roof->callback([options, &chosen] { chosen.action = [options] { return run_roof(*options); }; });
}

// This entry only serves `cornerturn --help` and the completion scripts. run() passes the arguments of `bench`,
// including --help, to bench::main before CLI11 parses them.
void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure the library, plain copies and other libraries");
  command->set_help_flag();
  command->prefix_command();
}

void add_completion(CLI::App& app, command_line& chosen) {
  auto shell = make_options<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print the completion script of a shell");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("NAME");
  command->callback([shell, &chosen, &app] {
    chosen.action = [shell, &app] {
      fmt::print("{}", completion_script(app, *shell));
      return static_cast<int>(exit_ok);
    };
  });
}

void add_make_sample(CLI::App& app, command_line& chosen) {
  auto options = make_options<sample_options>();
  CLI::App* command = app.add_subcommand("make-sample", "Write an .npy file for the demo");
  command->group("");  // hidden in --help: only ./dev demo uses it
  command->add_option("KIND", options->kind, "matrix: float32 16384x16384; cube: uint16 4096x4096x12, by pixel")
      ->required()
      ->check(CLI::IsMember({"matrix", "cube"}))
      ->type_name("NAME");
  command->add_option("FILE", options->output, "The .npy file to write")->required()->type_name("FILE");
  add_shape(command->add_option_function<std::string>("--shape", shape_reader(options->shape, "--shape"),
                                                      "Another shape of the same rank"));
  command->callback([options, &chosen] { chosen.action = [options] { return run_make_sample(*options); }; });
}

void print_error(const std::string& sentence) { fmt::print(stderr, "cornerturn: {}\n", sentence); }

int run_action(const std::function<int()>& action) {
  try {
    const int code = action();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      print_error(fmt::format("cannot write to stdout: {}", error_text(errno)));
      return exit_failure;
    }
    return code;
  } catch (const std::system_error& fault) {  // fmt throws this if a flush of a full buffer fails
    print_error(std::ferror(stdout) != 0 ? fmt::format("cannot write to stdout: {}", error_text(fault.code().value()))
                                         : fault.what());
    return exit_failure;
  } catch (const failure& fault) {
    print_error(fault.what());
    return fault.code();
  } catch (const error& fault) {
    print_error(fault.what());
    return fault.code() == status::no_device ? exit_no_device : exit_failure;
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
    return exit_failure;
  } catch (const std::exception& fault) {
    print_error(fault.what());
    return exit_failure;
  }
}

}  // namespace

std::unique_ptr<CLI::App> make_app(command_line& chosen) {
  auto app =
      std::make_unique<CLI::App>("Transposes matrices and permutes array axes at the speed of a copy.", "cornerturn");
  app->require_subcommand(1);
  app->set_version_flag("--version", fmt::format("cornerturn {}", version()));
  app->footer("Exit codes: 0 done, 1 failure, 2 usage, 3 no such device. See also `cornerturn COMMAND --help`.");
  app->get_formatter()->column_width(28);
  add_transpose(*app, chosen);
  add_explain(*app, chosen);
  add_bench(*app);
  add_ladder(*app, chosen);
  add_report(*app, chosen);
  add_system(*app, chosen);
  add_completion(*app, chosen);
  add_make_sample(*app, chosen);
  return app;
}

int run(int argc, const char* const* argv) {
  signal(SIGXFSZ, SIG_IGN);  // write then returns EFBIG at a file-size limit, and the command prints a sentence
  if (argc > 1 && std::strcmp(argv[1], "bench") == 0) {
    return run_action([&] { return bench::main(argc - 2, argv + 2); });
  }
  command_line chosen;
  const auto app = make_app(chosen);
  try {
    app->parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help and --version
    return run_action([&] { return app->exit(done); });
  } catch (const CLI::ParseError& fault) {
    print_error(fault.what());
    fmt::print(stderr, "Try `cornerturn --help`, or `cornerturn COMMAND --help`.\n");
    return exit_usage;
  }
  return run_action(chosen.action);
}

}  // namespace cornerturn::cli
