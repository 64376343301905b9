// The functions through which libFuzzer calls the body "sqlite".

import FuzzBodies

/// Runs the body on one input; libFuzzer calls it by this name.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { fuzz(.sqlite, bytes, count) }

/// Mutates one input; libFuzzer calls it by this name.
@_cdecl("LLVMFuzzerCustomMutator")
public func fuzzMutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ countMax: Int, _ seed: UInt32) -> Int {
    mutate(.sqlite, bytes, count, countMax, seed)
}
