// The time and kind of the failure of the crash body's machine, and the examination afterwards.
//
// Layout of the bytes: 0 kind of failure | 1, 2 number of the call or change | 3 whether the fault stays | 4 seed for
// the content that survives | 5, 6, 7 changes of the recoveries at which the power fails again (0 = not) | operations.
//
// Promises
//   1. For any failure at any time: after the next opening every transaction that was acknowledged as durable exists,
//      each transaction exists whole or not at all and never without those before it, and the store is whole.
//   2. A recovered store can be written and closed.

import EspalierEngine
import Synchronization
import TestSupport

/// A schedule of failures with the operations that meet them.
struct CrashSchedule {
    static let byteCount = 8

    private enum Failure {
        case powerLoss(change: Int)
        case fault(SimulatedFault)
    }

    private let failure: Failure
    private let survivalSeed: UInt64
    private let recoveries: [Int]
    private let input: FuzzInput

    init(_ bytes: [UInt8]) {
        var input = FuzzInput(bytes)
        let kind = input.number(below: 2 * SimulatedFault.Kind.allCases.count)
        let number = 1 + input.word() % 2000
        let isSticky = input.byte() & 1 == 1
        failure =
            kind < SimulatedFault.Kind.allCases.count
            ? .fault(
                SimulatedFault(operation: number, kind: SimulatedFault.Kind.allCases[kind], isSticky: isSticky))
            : .powerLoss(change: number)
        survivalSeed = UInt64(input.byte())
        recoveries = (0..<3).map { _ in Int(input.byte()) }
        self.input = input
    }

    /// Runs the operations until the failure, and examines the remaining files.
    func run() {
        let system = SimulatedFileSystem(seed: 9)
        var (history, durable): ([UInt64: ModelContent], UInt64) = ([0: [:]], 0)
        arm(system)
        do throws(StorageError) {
            let run = try OperationRun(input, in: system)
            defer { (history, durable) = (run.history, run.durable) }
            try run.run()
        } catch {
            // The failure has ended the operations; the examination below decides.
        }
        system.arm(nil)
        system.beforeEachChange(nil)
        if case .powerLoss = failure { precondition(system.violations.isEmpty, "\(system.violations)") }
        if case .fault = failure { examine(system, history, durable, goesOn: false) }
        var image = system.afterPowerLoss(seed: survivalSeed)
        for (depth, change) in recoveries.enumerated() where change > 0 {
            interrupt(image, at: change)
            image = image.afterPowerLoss(seed: survivalSeed &+ UInt64(depth) &* 257)
        }
        examine(image, history, durable, goesOn: true)
    }

    private func arm(_ system: SimulatedFileSystem) {
        switch failure {
        case .fault(let fault): system.arm(fault)
        case .powerLoss(let change): Self.cutPower(of: system, at: change)
        }
    }

    /// Makes the power fail before change number `change`, counted from now.
    private static func cutPower(of system: SimulatedFileSystem, at change: Int) {
        let left = Mutex(change)
        system.beforeEachChange { [weak system] _ in
            let isNow = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isNow { system?.cutPower() }
        }
    }

    /// Opens the store and makes the power fail during recovery.
    private func interrupt(_ image: SimulatedFileSystem, at change: Int) {
        Self.cutPower(of: image, at: change)
        do throws(StorageError) {
            _ = try Database.open(OperationRun.path, in: image, options: OperationRun.options)
        } catch {
            // The power has failed.
        }
        image.beforeEachChange(nil)
    }

    /// Opens the store as the next process would.
    private func examine(
        _ image: SimulatedFileSystem, _ history: [UInt64: ModelContent], _ durable: UInt64, goesOn: Bool
    ) {
        guard image.contents(of: OperationRun.path) != nil else {
            precondition(durable == 0, "the store is gone")
            return
        }
        do throws(StorageError) {
            let database = try Database.open(OperationRun.path, in: image, options: OperationRun.options)
            try compare(database, history, durable)
            let report = try database.check()
            precondition(report.isOK, "the check finds \(report.findings)")
            guard goesOn else { return }
            var write = try database.beginWrite()
            let tree = try write.tree(named: "after", orCreate: UInt64.self)
            try write.put([1, 2, 3], for: 7, in: tree)
            try write.commit()
            let isStillWhole = try database.check().isOK
            precondition(isStillWhole, "a change broke the recovered store")
            try database.close()
        } catch {
            preconditionFailure("the store cannot be used after the failure: \(error)")
        }
    }

    private func compare(
        _ database: Database, _ history: [UInt64: ModelContent], _ durable: UInt64
    ) throws(StorageError) {
        let read = try database.beginRead()
        let found = read.transactionID
        precondition(found >= durable, "transaction \(durable) was acknowledged, but \(found) is the newest")
        guard let content = history[found] else { preconditionFailure("transaction \(found) was never committed") }
        try OperationRun.compare(read, with: content)
    }
}
