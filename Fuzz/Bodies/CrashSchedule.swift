// When the machine of the crash body fails, and what is looked at afterwards.
//
// Layout of the bytes: 0 kind of failure | 1, 2 number of the call or change | 3 whether the fault stays | 4 seed of
// what survives | 5, 6, 7 changes of the recoveries at which the power fails again (0 = not) | operations.
//
// Promises
//   1. Whatever fails, and whenever: after the next opening every transaction that was acknowledged as durable is
//      there, each transaction is there whole or not at all, none without those before it, and the store is whole.
//   2. A store that recovered can be written and closed.

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

    /// Lets the operations meet the failure, and examines what is left.
    func run() {
        let system = SimulatedFileSystem(seed: 9)
        var (history, durable): ([UInt64: ModelContent], UInt64) = ([0: [:]], 0)
        arm(system)
        do throws(StorageError) {
            let run = try OperationRun(input, in: system)
            defer { (history, durable) = (run.history, run.durable) }
            try run.run()
        } catch {
            // The failure was met: what counts is what is left.
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

    /// Lets the power fail before change number `change`, counted from now.
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

    /// Opens the store and lets the power fail meanwhile.
    private func interrupt(_ image: SimulatedFileSystem, at change: Int) {
        Self.cutPower(of: image, at: change)
        do throws(StorageError) {
            _ = try Database.open(OperationRun.path, in: image, options: OperationRun.options)
        } catch {
            // The power is gone.
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
        precondition(found >= durable, "transaction \(durable) was acknowledged, \(found) is the newest")
        guard let content = history[found] else { preconditionFailure("nobody made transaction \(found)") }
        try OperationRun.compare(read, with: content)
    }
}
