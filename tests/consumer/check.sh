#!/usr/bin/env bash
# Installs the library as a user does, then builds and runs a consumer's project against it.
#   check.sh find_package|pkg-config|static|add_subdirectory|deb SOURCE BUILD SCRATCH
#   check.sh missing SOURCE BUILD SCRATCH: hides each library that a build needs, then offers one of a wrong version, then sets
#     wrong options, and expects a sentence with its name
set -euo pipefail
how=$1 source=$2 build=$3 scratch=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$scratch"
mkdir -p "$scratch"

consume() {  # consume HOW [cmake argument...]
  cmake -S "$here/app" -B "$scratch/only_c" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOW="$1" -DONLY_C=ON "${@:2}" >"$scratch/only_c.log" 2>&1 ||
    { cat "$scratch/only_c.log"; return 1; }
  # The library's sources are compiled once only, for the whole project.
  [ "$1" = add_subdirectory ] || { cmake --build "$scratch/only_c" && "$scratch/only_c/consumer_c"; }
  cmake -S "$here/app" -B "$scratch/app" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOW="$1" "${@:2}" >"$scratch/configure.log" ||
    { cat "$scratch/configure.log"; return 1; }
  CCACHE_BASEDIR=$scratch/app cmake --build "$scratch/app"
  "$scratch/app/consumer_cpp"
  "$scratch/app/consumer_c"
  [ ! -x "$scratch/app/consumer_mpi" ] || timeout 100 "$scratch/app/consumer_mpi"  # one rank needs no mpirun
  [ ! -x "$scratch/app/consumer_unload" ] || timeout 100 "$scratch/app/consumer_unload" "$(cat "$scratch/app/library.txt")"
}

refused() {  # refused SENTENCE [cmake argument...]: a build with these arguments does not configure, and says why
  local said
  if said=$(cmake -S "$source" -B "$scratch/refused" -G Ninja "${@:2}" 2>&1); then
    echo "a build with ${*:2} configures"
    return 1
  fi
  rm -rf "$scratch/refused"
  # CMake breaks the lines of a message.
  grep -q -e "$1" <<<"$(tr -s ' \n' ' ' <<<"$said")" || { echo "$said"; return 1; }
}

install_moved() {  # installs BUILD $1, then moves the tree: no file in it may hold the old path
  cmake --install "$1" --prefix "$scratch/first" >/dev/null
  mv "$scratch/first" "$scratch/prefix"
  if grep -rIl -e "$scratch/first" -e "$build" "$scratch/prefix"; then
    echo "the files above name the place they were built in or installed to"
    return 1
  fi
}

case $how in
  find_package)
    install_moved "$build"
    consume find_package -DCMAKE_PREFIX_PATH="$scratch/prefix"
    cmake -S "$source/examples" -B "$scratch/examples" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
    cmake --build "$scratch/examples"
    ctest --test-dir "$scratch/examples" --no-tests=error --output-on-failure
    if [ -x "$scratch/prefix/bin/cornerturn" ]; then "$scratch/prefix/bin/cornerturn" --version; fi
    ;;
  pkg-config)
    install_moved "$build"
    pc=$(dirname "$(find "$scratch/prefix" -name cornerturn.pc)")
    PKG_CONFIG_PATH=$pc consume pkg-config
    ;;
  static)
    # shellcheck disable=SC2086  # one argument for each word
    cmake -S "$source" -B "$scratch/static" -G Ninja -DBUILD_SHARED_LIBS=OFF -DCORNERTURN_TESTS=OFF \
      -DCORNERTURN_CLI=OFF -DCORNERTURN_EXAMPLES=OFF -DCORNERTURN_LADDER=OFF ${CORNERTURN_CMAKE:-} >/dev/null
    CCACHE_BASEDIR=$scratch/static cmake --build "$scratch/static"
    install_moved "$scratch/static"
    consume find_package -DCMAKE_PREFIX_PATH="$scratch/prefix"
    pc=$(dirname "$(find "$scratch/prefix" -name cornerturn.pc)")
    # shellcheck disable=SC2046  # one argument for each word
    cc "$here/app/main.c" -o "$scratch/by_pkg_config" $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs cornerturn)
    "$scratch/by_pkg_config"
    ;;
  add_subdirectory)
    # shellcheck disable=SC2086
    consume add_subdirectory -DCORNERTURN_SOURCE="$source" ${CORNERTURN_CMAKE:-}
    # The programs that another project installs need nothing of its build.
    cmake --install "$scratch/app" --prefix "$scratch/installed" >/dev/null
    mv "$scratch/app" "$scratch/gone"
    "$scratch/installed/bin/consumer_cpp"
    "$scratch/installed/bin/consumer_c"
    # Kernels are optimised whatever the other project's build type is, and its C++ programs have the standard of the headers.
    for type in "" Debug RelWithDebInfo MinSizeRel; do
      printf 'cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES CXX)\nadd_subdirectory("%s" cornerturn)\n
        add_executable(mine "%s")\ntarget_link_libraries(mine PRIVATE cornerturn::cornerturn)\n' \
        "$source" "$here/app/main.cpp" >"$scratch/CMakeLists.txt"
      cmake -S "$scratch" -B "$scratch/type" -G Ninja -DCMAKE_BUILD_TYPE="$type" -DCORNERTURN_CUDA=OFF -DCORNERTURN_HIP=OFF \
        -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
      python3 - "$scratch/type/compile_commands.json" <<'EOF'
import json, re, subprocess, sys
for one in json.load(open(sys.argv[1])):
    level = (re.findall(r" -O(\S*)", one["command"]) or ["0"])[-1]
    if "main.cpp" in one["file"]:  # CMake names no standard that is the compiler's own
        macros = subprocess.run([one["command"].split()[0], "-x", "c++", "-dM", "-E", "/dev/null"], capture_output=True, text=True)
        default = int(re.search(r"__cplusplus (\d+)L", macros.stdout)[1])
        assert "-std=gnu++20" in one["command"] or default >= 202002, one["command"]
    elif "cornerturn_objects" in one["command"]:
        assert level in ("2", "3"), one["command"]
EOF
      rm -rf "$scratch/type"
    done
    ;;
  deb)
    cpack -G DEB --config "$build/CPackConfig.cmake" -B "$scratch/deb" >"$scratch/cpack.log" 2>&1 ||
      { cat "$scratch/cpack.log"; exit 1; }
    deb=$(echo "$scratch"/deb/*.deb)
    dpkg-deb --info "$deb" | grep -E '^ (Package|Version|Architecture|Depends):'
    dpkg-deb --extract "$deb" "$scratch/root"
    for page in README.md docs/cli.md docs/learn/README.md docs/figures/speed-light.svg; do
      ls "$scratch/root/usr/share/doc/cornerturn/$page"
    done
    python3 - "$scratch/root/usr/share/doc/cornerturn" <<'EOF'
import pathlib, re, sys
pages = list(pathlib.Path(sys.argv[1]).rglob("*.md"))
prose = {page: re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S) for page in pages}
links = [(page, link) for page in pages for link in re.findall(r"(?:\]\(|src=\"|href=\"|srcset=\")([^)#\"\s]+)", prose[page])]
dead = [f"{page} links to {link}" for page, link in links if "://" not in link and not (page.parent / link).exists()]
print(f"{len(pages)} pages with {len(links)} links are installed, {len(dead)} links are dead", *dead, sep="\n")
sys.exit(1 if dead or len(links) < 100 else 0)
EOF
    consume find_package -DCMAKE_PREFIX_PATH="$scratch/root/usr"
    "$scratch/root/usr/bin/cornerturn" --version
    "$scratch/root/usr/bin/cornerturn" ladder --device cpu --rung 90 --shape 128x128
    ;;
  missing)
    for name in hwy fmt CLI11 nlohmann_json; do
      refused "cornerturn needs $name, which CMake did not find. On Debian: apt-get install [a-z]" \
        -DCMAKE_DISABLE_FIND_PACKAGE_$name=ON -DCORNERTURN_CUDA=OFF -DCORNERTURN_HIP=OFF
    done
    refused "CORNERTURN_CUDA is 'maybe', wanted AUTO, ON or OFF" -DCORNERTURN_CUDA=maybe
    refused "CORNERTURN_HIP is 'perhaps', wanted AUTO, ON or OFF" -DCORNERTURN_HIP=perhaps
    if c++ --version | grep -q 'Free Software'; then
      refused "CORNERTURN_FUZZ is ON, but the compiler is GNU, wanted Clang" -DCORNERTURN_FUZZ=ON -DCMAKE_CXX_COMPILER=c++
    fi
    # A library of version 0.1: an error. One of version 999: a sentence, and the build goes on to the next library.
    for name in hwy fmt CLI11 nlohmann_json; do
      for version in 0.1 999; do
        folder=$scratch/$name-$version/fake
        mkdir -p "$folder"
        : >"$folder/${name}Config.cmake"
        printf 'set(PACKAGE_VERSION %s)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n' $version >"$folder/${name}ConfigVersion.cmake"
        said=$(cmake -S "$source" -B "$scratch/$name-$version" -G Ninja -D${name}_DIR="$folder" -DCORNERTURN_CUDA=OFF \
          -DCORNERTURN_HIP=OFF 2>&1) || true
        wanted="needs $name [0-9.]* or newer, but CMake found $name 0.1 in $folder"
        [ $version = 0.1 ] || wanted="$name 999 is newer than [0-9.]*, the newest one tested"
        grep -q "$wanted" <<<"$(tr -s ' \n' ' ' <<<"$said")" || { echo "$said"; exit 1; }
      done
    done
    ;;
  *)
    echo "check.sh does not know '$how'"
    exit 2
    ;;
esac
