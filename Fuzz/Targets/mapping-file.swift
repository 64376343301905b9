// The function through which libFuzzer calls the body "mapping-file".

import FuzzBodies

/// Runs the body on one input; libFuzzer calls it by this name.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { fuzz(.mappingFile, bytes, count) }
