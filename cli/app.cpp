#include "app.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/numbers.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/system.hpp"
#include "help.hpp"
#include "print.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

// Makes the options of one subcommand. The callbacks that fill them share the ownership.
template <class Options>
std::shared_ptr<Options> make_options() {
  return std::make_shared<Options>();
}

const std::vector<std::string> files_devices = {"auto", "cpu", "cuda"};

void add_transpose(CLI::App& app, command_line& chosen) {
  auto options = make_options<transpose_options>();
  CLI::App& command = *app.add_subcommand("transpose", "Transpose the array of an .npy file into another .npy file");
  add_text(command, "IN", "FILE", "The .npy file to read: version 1.0 to 3.0, any dtype of fixed size. - is stdin",
           options->input)
      ->required();
  add_text(command, "OUT", "FILE", "The .npy file to write. It only appears after all of it is written. - is stdout",
           options->output)
      ->required();
  add_axes(command, options->axes);
  add_threads(command, options->threads);
  add_device(command, options->device, files_devices,
             "Device that transposes the data. This version transposes files on the CPU only. Default: auto");
  CLI::Option* memory = add_size(
      command, "--memory",
      "The most memory that the command may use: 512MiB, 2GiB. Default: half of the available memory. An input that "
      "does not fit is transposed in boxes",
      options->memory, std::int64_t{1} << 20, std::int64_t{1} << 60);
  add_choice(command, "--order", "The order of the output in its file. Default: C", {"C", "F"}, options->order);
  CLI::Option* shape = add_shape(command, "--shape",
                                 "The shape of an input without a header, in C order. OUT gets a header if "
                                 "its name ends with .npy",
                                 options->raw_shape);
  CLI::Option* dtype = add_text(command, "--dtype", "DTYPE", "The dtype of an input without a header: float32, u1, >i2",
                                options->raw_dtype);
  shape->needs(dtype);
  dtype->needs(shape);
  add_size(command, "--offset", "Bytes of an input without a header before its data. Default: 0", options->raw_offset,
           0, std::int64_t{1} << 60)
      ->needs(shape);
  add_flag(command, "--dry-run", "Print the passes, the boxes, the bytes and the predicted time, and write nothing",
           options->dry_run);
  add_flag(
      command, "--resume",
      "Keep OUT.part and a journal of its finished boxes if the run is interrupted. If they are there, go on from them",
      options->resume);
  CLI::Option* part = add_value(
      command, "--part", "K/N",
      "Write part K of N into OUT.part, for N processes that share a file system. Implies --resume",
      "a part such as 3/8, from 1/8 to 8/8", [options](const std::string& text) {
        const std::size_t slash = std::min(text.find('/'), text.size());
        const auto read = [&](std::size_t from, std::size_t to, int& number) {
          const auto [end, fault] = std::from_chars(text.data() + from, text.data() + to, number);
          return from < to && fault == std::errc{} && end == text.data() + to;
        };
        return read(0, slash, options->part) && read(std::min(slash + 1, text.size()), text.size(), options->parts) &&
               options->part >= 1 && options->part <= options->parts && options->parts <= 65536;
      });
  CLI::Option* finish =
      add_integer(command, "--finish", "Check the boxes of N parts against their journals, and publish OUT",
                  options->finish, 1, 65536);
  for (CLI::Option* one : {part, finish}) one->needs(memory);  // the boxes of all parts follow from it
  part->excludes(finish);
  CLI::Option* verify = add_flag(
      command, "--verify", "Read the output back and compare every element with the input. A mismatch leaves no output",
      options->verify);
  add_size(command, "--sample", "Let --verify compare about this many bytes, at random places. Default: all",
           options->sample, 1, std::int64_t{1} << 60)
      ->needs(verify);
  add_flag(command, "--metadata-only",
           "Copy the data unchanged and transpose in the header: C order becomes Fortran order",
           options->metadata_only);
  add_force(command, options->force);
  add_flag(command, "--no-sync", "Do not wait until the output is on the disk", options->no_sync);
  add_json(command, options->json);
  add_flag(command, "--quiet", "Print nothing but errors", options->quiet);
  command.footer(
      "A Fortran-order input is read with its strides. --metadata-only works if all axes are reversed, or if only axes "
      "of "
      "extent 1 change position.");
  command.callback([options, &chosen] { chosen.action = [options] { return run_transpose(*options); }; });
}

// A shape selects the explanation of a plan. Any other word names a kernel.
bool parse_explained(explain_options& options, const std::string& text) {
  const bool looks_like_a_shape = text.find_first_not_of("0123456789x") == std::string::npos;
  options.shape = parse_shape(text).value_or(std::vector<std::int64_t>{});
  if (options.shape.empty()) options.kernel = text;
  return !options.shape.empty() || (!looks_like_a_shape && !text.empty());
}

void add_explain(CLI::App& app, command_line& chosen) {
  auto options = make_options<explain_options>();
  CLI::App& command = *app.add_subcommand("explain", "Show the kernel for a shape, or the memory accesses of a kernel");
  CLI::Option* what = add_value(command, "SHAPE|KERNEL", "",
                                "The shape of the source: 4096x2048, 64x56x56x256. Or a kernel: a name that "
                                "`cornerturn kernels` lists, or a rung "
                                "of the ladder: 30_padded",
                                "a shape such as 4096x2048, or the name of a kernel",
                                [options](const std::string& text) { return parse_explained(*options, text); });
  add_axes(command, options->axes);
  add_size(command, "--bytes", "Bytes of one element. Default: 4, or as the name of KERNEL says",
           options->element_bytes, 1, std::int64_t{1} << 40);
  add_threads(command, options->threads);
  add_integer(command, "--src-ld", "Elements between rows of the source matrix. Default: packed", options->src_ld, 0,
              std::int64_t{1} << 60);
  add_integer(command, "--dst-ld", "Elements between rows of the transposed matrix. Default: packed", options->dst_ld,
              0, std::int64_t{1} << 60);
  add_text(command, "--machine", "NAME",
           "Plan for this computer's CPU (\"cpu\"), or for a machine that need not be present: zen3, zen4, "
           "sapphire_rapids, emerald_rapids, cascade_lake, generic, neoverse_n1, H200, A100, RTX 4090, B200. Default: "
           "this machine",
           options->machine);
  CLI::Option* all = add_flag(command, "--all", "Compare all rungs of the ladder in one table", options->all);
  add_shape(
      command, "--shape",
      "The shape of the array that KERNEL transposes. Default: 2048x2048 for a rung of the ladder; for another kernel, "
      "a shape that it accepts",
      options->matrix);
  add_text(command, "--arch", "NAME",
           "The GPU for KERNEL: sm_75 to sm_120, gfx90a, gfx942, gfx1030, gfx1100. Default: sm_90", options->arch);
  add_text(command, "--svg", "FILE", "Write the picture of a rung to this SVG file", options->svg);
  add_json(command, options->json);
  command.callback([=, &chosen, &command] {
    if (*what && *all) throw CLI::ExcludesError("--all", "SHAPE|KERNEL");
    if (!*what && !*all) throw CLI::RequiredError("SHAPE|KERNEL");
    const bool plans = *what && options->kernel.empty();
    for (const char* name : {"--shape", "--arch", "--svg"}) {
      if (plans && command.count(name) > 0) {
        throw CLI::ValidationError(fmt::format("{} is given with the shape {}, wanted a kernel or --all with it", name,
                                               shape_text(options->shape)));
      }
    }
    if (!plans && command.count("--machine") > 0) {
      throw CLI::ValidationError(
          "--machine is given with a kernel, wanted a shape with it; --arch names a kernel's GPU");
    }
    chosen.action = [=] { return plans ? run_explain(*options) : run_explain_kernel(*options); };
  });
}

void add_ladder(CLI::App& app, command_line& chosen) {
  auto options = make_options<ladder_options>();
  CLI::App& command =
      *app.add_subcommand("ladder", "Run the teaching kernels, from naive to production, on this machine");
  CLI::Option* file = add_text(command, "FILE", "",
                               "A rung of your own, NAME.cuh, for --device emulated: a changed copy of a file of "
                               "ladder/. g++ compiles it, and the last struct of the file is run",
                               options->file);
  add_text(command, "--rung", "NAME", "Run this rung only: 30_padded, padded or 30", options->rung)->excludes(file);
  add_shapes(
      command, "--shape",
      "A matrix to transpose; can be repeated. Default: 8192x8192 and 16384x16384; CPU: 4096x4096 and 5008x7008; "
      "emulator: every kind of edge, and 256x256 for the counts",
      options->shapes);
  auto device = make_options<device_choice>();
  add_device(command, *device, {"auto", "cpu", "cuda", "hip", "emulated"},
             "Device to run on. Default: auto, a GPU if present, else the CPU. The emulator needs no GPU: it runs the "
             "rungs' text on the host and counts, but does not time. A Python package has no emulator");
  add_integer(command, "--threads", "Threads of the CPU. Default: 1", options->threads, 1, 4096);
  add_value(command, "--bytes", "1|2|4|8", "Bytes of one element. Default: 4", "1, 2, 4 or 8",
            [options](const std::string& text) {
              const auto bytes = parse_size(text);
              options->element_bytes = static_cast<int>(bytes.value_or(0));
              return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
            });
  add_integer(command, "--repeat", "Measurements of each rung. Default: 9", options->repetitions, 1, 1000);
  add_flag(command, "--check", "Check every rung on every kind of edge; measure nothing", options->check);
  add_json(command, options->json);
  add_output(command, options->output, "Write the measurements to this result file");
  command.callback([options, device, &command, &chosen] {
    options->device = device->kind;
    options->gpu = device->ordinal;
    for (const char* name : {"--threads", "--repeat", "--check", "--json", "--output"}) {
      if (device->kind == "emulated" && command.count(name) > 0) {
        throw CLI::ValidationError(
            fmt::format("{} is given with --device emulated, which always checks and measures nothing. Wanted: another "
                        "device with it",
                        name));
      }
    }
    chosen.action = [options] { return run_ladder(*options); };
  });
}

void add_report(CLI::App& app, command_line& chosen) {
  auto options = make_options<report_options>();
  CLI::App& command =
      *app.add_subcommand("report", "Measure the ladder, matrix sizes and other libraries, and write a web page");
  add_output(command, options->output, "The .html file to write. It needs no other file and no network")->required();
  CLI::Option* from = add_items(
      command, "--from", "FILE",
      "Measure nothing, and show this result file of `bench -o`, `ladder -o` or `report --save`; can be repeated",
      name_of_a_file, [options](const std::string& name) {
        options->from.push_back(name);
        return !name.empty();
      });
  add_device(command, options->device, {"auto", "cpu", "cuda"},
             "Device to measure. Default: auto, a GPU if present, else the CPU")
      ->excludes(from);
  add_text(command, "--since", "FILE",
           "Show the change since this result file of an earlier `bench -o` or `report --save`", options->since);
  add_text(command, "--save", "FILE", "Write the measured cases to this file, for --since and --from", options->save)
      ->excludes(from);
  add_flag(command, "--quick", "Small matrices and few rounds: fast, but inaccurate", options->quick)->excludes(from);
  command.callback([options, &chosen] { chosen.action = [options] { return run_report(*options); }; });
}

void add_system(CLI::App& app, command_line& chosen) {
  auto doctor_json = make_options<bool>();
  CLI::App* doctor = app.add_subcommand("doctor", "Describe this build and this machine, for bug reports");
  add_json(*doctor, *doctor_json);
  doctor->callback([doctor_json, &chosen] { chosen.action = [doctor_json] { return run_doctor(*doctor_json); }; });

  auto kernels_json = make_options<bool>();
  CLI::App* list = app.add_subcommand("kernels", "List the kernels of this build");
  add_json(*list, *kernels_json);
  list->callback([kernels_json, &chosen] { chosen.action = [kernels_json] { return run_kernels(*kernels_json); }; });

  auto options = make_options<roof_options>();
  CLI::App& roof =
      *app.add_subcommand("roof", "Measure the fastest plain copy in memory or on a disk: the bound of a transpose");
  add_size(roof, "--size", "Bytes to copy, one way. Default: 1GiB", options->bytes, 1, std::int64_t{1} << 46);
  add_threads(roof, options->threads);
  add_device(roof, options->device, {"auto", "cpu", "cuda"},
             "The device whose memory is copied. Default: auto, the CPU");
  add_text(
      roof, "--disk", "FOLDER",
      "Measure the disk of this folder with scratch files of --size, and remember its speed for the predictions of "
      "`cornerturn transpose --dry-run`",
      options->disk);
  add_json(roof, options->json);
  roof.callback([options, &chosen] { chosen.action = [options] { return run_roof(*options); }; });
}

void add_tune(CLI::App& app, command_line& chosen) {
  auto options = make_options<tune_request>();
  CLI::App& command =
      *app.add_subcommand("tune", "Measure the fastest kernel for a shape on this CPU, and store it for later plans");
  add_shape(command, "SHAPE", "The shape of the source: 4096x2048, 64x56x56x256", options->shape)
      ->type_name("")
      ->required();
  add_axes(command, options->axes);
  add_size(command, "--bytes", "Bytes of one element. Default: 4", options->element_bytes, 1, std::int64_t{1} << 40);
  add_threads(command, options->threads);
  add_value(command, "--seconds", "SECONDS", "Approximate time of the measurement. Default: 0.5",
            "a number of seconds from 0 to 3600", [options](const std::string& text) {
              return base::read_number(text, options->seconds) && options->seconds >= 0 && options->seconds <= 3600;
            });
  add_text(command, "-o,--output", "FILE",
           "The tuning file that receives the fastest kernel beside its other findings. Default: the file of "
           "CORNERTURN_TUNE_FILE, or none",
           options->file);
  add_json(command, options->json);
  command.footer(
      "A program whose CORNERTURN_TUNE_FILE names the file uses the kernel for this shape, in packed arrays and "
      "with this number of threads.");
  command.callback([options, &chosen] { chosen.action = [options] { return run_tune(*options); }; });
}

void add_calibrate(CLI::App& app, command_line& chosen) {
  auto options = make_options<calibrate_request>();
  CLI::App& command =
      *app.add_subcommand("calibrate", "Measure this machine, and store the constants of the kernel choice");
  add_device(command, options->device, {"auto", "cpu", "cuda"}, "Device to measure. Default: auto, the CPU");
  add_value(command, "--minutes", "MINUTES", "Approximate time of the measurement. Default: 3",
            "a number of minutes from 0.1 to 600", [options](const std::string& text) {
              return base::read_number(text, options->minutes) && options->minutes >= 0.1 && options->minutes <= 600;
            });
  add_value(command, "--threads", "N", "Threads of each problem on the CPU. Default: 1", "a number from 1 to 1024",
            [options](const std::string& text) {
              return base::read_number(text, options->threads) && options->threads >= 1 && options->threads <= 1024;
            });
  add_value(command, "--seed", "N", "The seed of the random problems. Default: 1", "a number",
            [options](const std::string& text) { return base::read_number(text, options->seed); });
  add_text(command, "-o,--output", "FILE",
           "The machine file to write. Default: cornerturn/machine-NAME.json in XDG_CONFIG_HOME (~/.config), which all "
           "later "
           "plans of this user read",
           options->file);
  add_flag(command, "-q,--quiet", "No lines of progress", options->quiet);
  add_json(command, options->json);
  command.footer(
      "Other programs that run meanwhile make the measurement worse. The file is written at the end: an earlier one "
      "stays if "
      "the command is interrupted. A program whose CORNERTURN_MACHINE_FILE names a file uses that file. "
      "docs/machines.md "
      "compares this command with `cornerturn tune`, which measures one problem.");
  command.callback([options, &chosen] { chosen.action = [options] { return run_calibrate(*options); }; });
}

void add_completion(CLI::App& app, command_line& chosen) {
  auto shell = make_options<std::string>();
  CLI::App& command = *app.add_subcommand("completion", "Print the completion script of a shell");
  add_choice(command, "SHELL", "The shell", {"bash", "zsh", "fish"}, *shell)->required();
  command.callback([shell, &chosen, &app] {
    chosen.action = [shell, &app] {
      print_safe("{}", completion_script(app, *shell));
      return static_cast<int>(exit_ok);
    };
  });
}

void add_make_sample(CLI::App& app, command_line& chosen) {
  auto options = make_options<sample_options>();
  CLI::App& command = *app.add_subcommand("make-sample", "Write an .npy file for the demo");
  command.group("");  // hidden in --help: only ./dev demo uses it
  add_choice(command, "KIND", "matrix: float32 16384x16384; cube: uint16 4096x4096x12, by pixel", {"matrix", "cube"},
             options->kind)
      ->required();
  add_text(command, "FILE", "", "The .npy file to write", options->output)->required();
  add_shape(command, "--shape", "Another shape of the same rank", options->shape);
  command.callback([options, &chosen] { chosen.action = [options] { return run_make_sample(*options); }; });
}

void print_error(const std::string& sentence) {
  std::fputs(fmt::format("cornerturn: {}\n", one_line(sentence)).c_str(), stderr);
}

// If stdin, stdout or stderr is closed, the next file would get its number, and text would be printed into that file. So
// each gets a descriptor that fails.
void keep_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    if (base::open_any("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY).release() < 0) return;
  }
}

// Calls action. Each exception becomes a sentence and an exit code.
int reported(const std::function<int()>& action) {
  try {
    return action();
  } catch (const std::system_error& fault) {  // fmt throws this if a flush of a full buffer fails
    print_error(fmt::format("{}: {}", std::ferror(stdout) != 0 ? "cannot write to stdout" : "the system refused a call",
                            error_text(fault.code().value())));
    return exit_failure;
  } catch (const failure& fault) {
    print_error(fault.what());
    return fault.code();
  } catch (const error& fault) {
    print_error(fault.what());
    return fault.code() == status::no_device ? exit_no_device : exit_failure;
  } catch (const std::invalid_argument& fault) {  // of the bench
    print_error(fault.what());
    return exit_usage;
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
    return exit_failure;
  } catch (const std::runtime_error& fault) {  // sentences of the bench and of the ladder
    print_error(fault.what());
    return exit_failure;
  } catch (...) {  // the name of a C++ exception tells a user nothing
    print_error("an unexpected failure. Please report it with the words of the command");
    return exit_failure;
  }
}

int run_action(const std::function<int()>& action) {
  return reported([&] {
    const int code = action();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    throw failure(fmt::format("cannot write to stdout: {}", error_text(errno)));
  });
}

}  // namespace

std::unique_ptr<CLI::App> make_app(command_line& chosen) {
  auto app =
      std::make_unique<CLI::App>("Transposes matrices and permutes array axes at the speed of a copy.", "cornerturn");
  app->formatter(help_format());
  app->require_subcommand(1);
  app->set_help_flag("-h,--help", "Print this text");
  app->set_version_flag("--version", fmt::format("cornerturn {}", version()), "Print the version");
  add_transpose(*app, chosen);
  add_explain(*app, chosen);
  add_bench(*app, chosen);
  add_ladder(*app, chosen);
  add_report(*app, chosen);
  add_tune(*app, chosen);
  add_calibrate(*app, chosen);
  add_system(*app, chosen);
  add_completion(*app, chosen);
  add_make_sample(*app, chosen);
  app->footer(
      "`cornerturn COMMAND --help` explains the options of a command.\n"
      "Lessons: `cornerturn ladder` times the teaching kernels, `cornerturn explain 30_padded` shows the memory "
      "accesses "
      "of one, and docs/learn/README.md in the source explains them all.\n"
      "Exit codes: 0 done, 1 failure, 2 usage, 3 no such device.");
  return app;
}

namespace {

int parse_and_run(int argc, const char* const* argv) {
  command_line chosen;
  for (int k = 0; k < argc; ++k) chosen.words.emplace_back(k == 0 ? "cornerturn" : argv[k]);
  const auto app = make_app(chosen);
  if (const auto sentence = axes_with_spaces(chosen.words)) {
    print_error(*sentence);
    return exit_usage;
  }
  try {
    app->parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help and --version
    return run_action([&] { return app->exit(done); });
  } catch (const CLI::ParseError& fault) {
    print_error(usage_sentence(*app, fault));
    const auto commands = app->get_subcommands();
    const std::string name = commands.empty() ? "" : commands.front()->get_name() + " ";
    std::fputs(fmt::format("Try `cornerturn {}--help`.\n", name).c_str(), stderr);
    return exit_usage;
  }
  return run_action(chosen.action);
}

}  // namespace

int run(int argc, const char* const* argv) {
  signal(SIGXFSZ, SIG_IGN);  // write then returns EFBIG at a file-size limit, and the command prints a sentence
  keep_standard_descriptors();
  return reported([&] { return parse_and_run(argc, argv); });
}

}  // namespace cornerturn::cli
