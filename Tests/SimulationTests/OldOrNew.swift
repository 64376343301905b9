// Work on a store file that a power loss or a failing call leaves either undone or done.

import Synchronization
import TestSupport
import Testing

/// A change of a store file that must be atomic.
struct OldOrNew {
    /// Does the work.
    let work: (SimulatedFileSystem) throws -> Void
    /// Whether a file shows the work done; `nil` if it shows only a part.
    let isDone: (SimulatedFileSystem) throws -> Bool?

    /// Does the work, and expects a whole store after a power loss before each change of a file.
    func expectWholeAfterPowerLoss(on system: SimulatedFileSystem, seed: UInt64) throws {
        let images = Mutex<[SimulatedFileSystem]>([])
        system.beforeEachChange { operation in
            let image = system.afterPowerLoss(seed: seed &* 1000 &+ UInt64(operation))
            images.withLock { $0.append(image) }
        }
        try work(system)
        system.beforeEachChange(nil)

        var outcomes: [Bool?] = []
        for image in images.withLock({ $0 }) { outcomes.append(try isDone(image)) }

        #expect(outcomes.count > 5 && !outcomes.contains(nil))
        #expect(outcomes.contains(false) && outcomes.contains(true))
        #expect(try isDone(system.afterPowerLoss(seed: seed)) == true)
    }

    /// Does the work on copies of `original`, in each of which another call fails: every `step`th call, in four ways.
    func expectWholeAfterFailures(on original: SimulatedFileSystem, step: Int) throws {
        for kind in [SimulatedFault.Kind.inputOutput, .noSpace, .short, .syncForgets] {
            var (distance, isBeyond) = (1, false)
            while !isBeyond {
                let system = original.afterKill()
                let start = system.operationCount
                system.arm(SimulatedFault(operation: start + distance, kind: kind))

                let isReported = (try? work(system)) != nil

                isBeyond = system.operationCount < start + distance
                system.arm(nil)
                let outcome = try isDone(system.afterKill())
                #expect(outcome != nil, "\(kind) at call \(distance)")
                if isReported { #expect(outcome == true, "\(kind) at call \(distance)") }
                distance += step
            }
            #expect(distance > 2 * step)
        }
    }
}
