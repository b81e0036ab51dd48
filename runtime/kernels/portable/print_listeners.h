// Who wants to have what PrintV2 prints, in this process.
#pragma once

#include <string>

namespace tensorfleet::portable {

using PrintListener = void (*)(const char* text);

// For the rest of the process. Thread-safe, as the listener must be.
void AddPrintListener(PrintListener listener);
// Gives the text to all listeners; false when there is none.
bool TellPrintListeners(const std::string& text);

}  // namespace tensorfleet::portable
