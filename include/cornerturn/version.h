/* The version of these headers. cornerturn::version() and cornerturn_version() return the version of the loaded library. */
#ifndef CORNERTURN_VERSION_H
#define CORNERTURN_VERSION_H

#define CORNERTURN_VERSION_MAJOR 0
#define CORNERTURN_VERSION_MINOR 2
#define CORNERTURN_VERSION_PATCH 0
#define CORNERTURN_VERSION_STRING "0.2.0"

#endif
