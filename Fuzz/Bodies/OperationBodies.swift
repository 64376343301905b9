// The bodies whose bytes are operations: on a healthy machine, and on one that fails or loses power.

import EspalierEngine
import TestSupport

extension FuzzBody {
    /// The bytes are operations against a sorted array.
    public static let operations = FuzzBody(name: "operations", seeds: { operationSeeds(prefix: []) }) { bytes in
        let system = SimulatedFileSystem(seed: 5)
        do throws(StorageError) {
            try OperationRun(FuzzInput(bytes), in: system).run()
        } catch {
            preconditionFailure("an error has no cause: \(error)")
        }
        precondition(system.violations.isEmpty, "\(system.violations)")
    }

    /// The bytes are operations with maintenance between them: shrinking, copies of every kind, increments, streams of
    /// changes.
    public static let care = FuzzBody(
        name: "care",
        seeds: {
            var seeds = operationSeeds(prefix: [])
            // A full copy, then transactions of one bulk insertion or removal, with each kind of maintenance between
            // them.
            var bytes: [UInt8] = [1]
            for round in UInt8(0)..<24 {
                let isRemoval = round % 6 > 3
                bytes += [11, 1, round % 2, isRemoval ? 12 : 11, 0, round % 3]
                bytes += isRemoval ? [150] : [250, 1, 2, 199]
                bytes += [3, round % 9, 3, 200]
            }
            seeds["every-kind"] = bytes
            return seeds
        }
    ) { bytes in
        let system = SimulatedFileSystem(seed: 6)
        do throws(StorageError) {
            try CareRun(FuzzInput(bytes), in: system).run()
        } catch {
            preconditionFailure("an error has no cause: \(error)")
        }
        precondition(system.violations.isEmpty, "\(system.violations)")
    }

    /// The bytes are a schedule of faults and power losses (`CrashSchedule.byteCount`), and then operations.
    public static let crash = FuzzBody(
        name: "crash", seeds: { operationSeeds(prefix: [3, 60, 0, 0, 9, 1, 4, 2]) }
    ) { bytes in
        CrashSchedule(bytes).run()
    }

    /// Pseudo-random operations, and some that fill and empty pages.
    private static func operationSeeds(prefix: [UInt8]) -> [String: [UInt8]] {
        var seeds: [String: [UInt8]] = [:]
        for seed in UInt64(1)...6 {
            var chance = SeededGenerator(seed: seed)
            seeds["random-\(seed)"] =
                prefix + (0..<80 * Int(seed)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
        }
        // Transactions of one bulk insertion and one bulk removal in each tree, with reopenings between them.
        seeds["bulk"] =
            prefix
            + (0..<12).flatMap { round -> [UInt8] in
                let tree = UInt8(round % 2)
                return [
                    5, 2, tree, 11, 0, UInt8(round), 250, 1, 2, 199, tree, 12, 50, UInt8(round), 120, 5, 2, 4, 1, 0,
                ]
            }
        return seeds
    }
}
