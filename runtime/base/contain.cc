#include "runtime/base/contain.h"

#include <exception>
#include <new>
#include <stdexcept>

#include "runtime/base/cancellation.h"

namespace tensorfleet {

Status StatusOfException() noexcept {
  try {
    throw;
  } catch (const CancelledLoop& cancelled) {
    return cancelled.why;
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("out of memory");
  } catch (const std::length_error& error) {
    return ResourceExhausted("out of memory: a size that no memory has (", error.what(), ")");
  } catch (const std::exception& error) {
    return Internal("unexpected exception: ", error.what());
  } catch (...) {
    return Internal("unexpected exception of an unknown type");
  }
}

}  // namespace tensorfleet
