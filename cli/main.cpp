#include "app.hpp"

int main(int argc, char** argv) { return cornerturn::cli::run(argc, argv); }
