// libFuzzer's way into the body "canary".

import FuzzBodies

/// Runs the body on one input; libFuzzer calls it by this name.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzBody.canary.run([UInt8](UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
