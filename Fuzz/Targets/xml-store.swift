// The function through which libFuzzer calls the body "xml-store".

import FuzzBodies

/// Runs the body on one input; libFuzzer calls it by this name.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { fuzz(.xmlStore, bytes, count) }
