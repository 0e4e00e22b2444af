// Called by the text for 16 bytes that are stored past the cache.
#pragma once

void seen_stream(const void* to);
