// libFuzzer's way into the body "canary".

import FuzzBodies

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FuzzBody.canary.run(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}
