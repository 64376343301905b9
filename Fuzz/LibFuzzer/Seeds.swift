// Writes the initial inputs instead of fuzzing, if `ESPALIER_SEEDS` names a folder.

import Foundation
import FuzzBodies

/// Writes the seeds; libFuzzer calls this function first.
@_cdecl("LLVMFuzzerInitialize")
public func initialiseFuzzing(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    guard let folder = ProcessInfo.processInfo.environment["ESPALIER_SEEDS"] else { return 0 }
    do {
        for body in FuzzBody.all where body.name != "canary" {
            let place = URL(filePath: folder).appending(path: body.name)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            for (name, bytes) in body.seeds() { try Data(bytes).write(to: place.appending(path: name)) }
        }
        exit(0)
    } catch {
        print("the seeds cannot be written: \(error)")
        exit(1)
    }
}
