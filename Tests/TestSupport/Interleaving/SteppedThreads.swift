// Threads of which one runs at a time until it reaches a step, where a decision says which thread continues.
//
// The threads are real and run the unmodified engine. The decisions alone order them, so a list of decisions is a
// repeatable run. The thread that has the turn asks for the decision itself: while it continues, the operating system
// switches no thread, which makes thousands of runs per second possible.
//
// Invariants
//   1. Exactly one of driver and threads has the turn, and only that one touches the state here. The turn is passed
//      under a monitor, which orders memory.
//   2. A thread that waits for a monitor is not ready until its holder releases it; one that yields twice without a
//      step is not ready until another thread has taken one. If no thread is ready and not all have ended, the run is
//      a deadlock; its threads stay parked, and the next run gets new ones.

package import EspalierEngine
import Foundation
import Synchronization

/// The action that a thread is about to take at a step.
package enum Step: Hashable, Sendable {
    /// Begin.
    case start
    /// Do the part of the test that has this name.
    case named(String)
    /// Call the file system.
    case file(IOOperation, FileRole)
    /// Acquire a monitor.
    case monitor
    /// Continue after releasing a monitor.
    case release
    /// Continue after offering the turn.
    case yield
    /// Do the next of several atomic operations.
    case atomic
    /// Test the condition again after a wait.
    case resume
}

/// The way in which a run of threads ended.
package enum SteppedOutcome: Sendable {
    case finished
    /// No thread could continue; the text says which step each of them took last.
    case deadlock(String)
}

// SAFETY: @unchecked Sendable by invariant 1.
/// A set of threads of which one runs at a time.
package final class SteppedThreads: ThreadSchedule, @unchecked Sendable {
    private enum State: Equatable {
        case ready
        case blocked(ObjectIdentifier)
        case waiting(ObjectIdentifier)
        case spinning
        case ended
    }

    private let isStep: @Sendable (Step) -> Bool
    private var workers: [Worker] = []
    private let driver = Turn()
    private var bodies: [@Sendable () -> Void] = []
    private var states: [State] = []
    private var hasYielded: [Bool] = []
    private var held: [ObjectIdentifier: Int] = [:]
    private var current: Int?
    private var isDeadlocked = false
    private var spinCount = 0
    private var search = ScheduleSearch(repeating: [])
    /// Every step of the last run, with its thread.
    package private(set) var trace: [(thread: Int, step: Step)] = []

    /// - Parameter isStep: says which steps ask for a decision; at the others the thread continues.
    package init(isStep: @escaping @Sendable (Step) -> Bool) { self.isStep = isStep }

    deinit { for worker in workers { worker.dismiss() } }

    /// Runs each of `bodies` on its own thread; returns when all have ended or none can continue.
    package func run(_ bodies: [@Sendable () -> Void], by search: ScheduleSearch) -> SteppedOutcome {
        while workers.count < bodies.count {
            let number = workers.count
            workers.append(Worker { [unowned self] in work(number) })
        }
        self.search = search
        search.begin()
        states = Array(repeating: .ready, count: bodies.count)
        hasYielded = Array(repeating: false, count: bodies.count)
        held.removeAll(keepingCapacity: true)
        trace.removeAll(keepingCapacity: true)
        (current, isDeadlocked, spinCount) = (nil, false, 0)
        self.bodies = bodies
        passTurn(from: nil)
        driver.take()
        guard isDeadlocked else { return .finished }
        let stuck = states.indices.filter { states[$0] != .ended }.map { number in
            "\(number) after \(trace.last { $0.thread == number }.map { "\($0.step)" } ?? "nothing")"
        }
        workers = []
        return .deadlock(stuck.joined(separator: ", "))
    }

    /// Runs the body of thread `number`: the job of its worker.
    private func work(_ number: Int) {
        CurrentSchedule.$value.withValue(self) {
            // Release the objects that the body captured here, while this thread still has the turn.
            let body = bodies[number]
            bodies[number] = {}
            body()
        }
        states[number] = .ended
        noteProgress()
        passTurn(from: nil)
    }

    /// Marks a point at which another thread may get the turn.
    package func step(_ step: Step) {
        guard let number = current else { return }
        if isStep(step) { hand(from: number) }
        noteProgress()
        hasYielded[number] = false
        trace.append((number, step))
    }

    // MARK: ThreadSchedule

    package func lock(_ monitor: Monitor) {
        step(.monitor)
        take(ObjectIdentifier(monitor))
    }

    package func unlock(_ monitor: Monitor) {
        giveBack(ObjectIdentifier(monitor))
        step(.release)
    }

    package func wait(_ monitor: Monitor) {
        let name = ObjectIdentifier(monitor)
        guard let number = current else { preconditionFailure("the driver would wait for ever") }
        giveBack(name)
        states[number] = .waiting(name)
        passTurn(from: number)
        trace.append((number, .resume))
        take(name)
    }

    package func wakeAll(_ monitor: Monitor) {
        let name = ObjectIdentifier(monitor)
        for number in states.indices where states[number] == .waiting(name) { states[number] = .ready }
    }

    package func yield() {
        guard let number = current else { return }
        // A thread that yields again without a step between waits for another thread; the first time it may continue.
        if hasYielded[number] {
            states[number] = .spinning
            passTurn(from: number)
        } else {
            step(.yield)
            hasYielded[number] = true
        }
    }

    package func step() { step(.atomic) }

    private func take(_ name: ObjectIdentifier) {
        while held[name] != nil {
            guard let number = current else { preconditionFailure("a thread has ended with a lock") }
            states[number] = .blocked(name)
            passTurn(from: number)
        }
        held[name] = current ?? -1
    }

    private func giveBack(_ name: ObjectIdentifier) {
        precondition(held.removeValue(forKey: name) == current ?? -1, "a lock is given back by who has it")
        for number in states.indices where states[number] == .blocked(name) { states[number] = .ready }
    }

    // MARK: The turn

    /// Makes the threads that yielded ready again, after another thread has taken a step.
    private func noteProgress() {
        spinCount = 0
        for number in states.indices where states[number] == .spinning { states[number] = .ready }
    }

    /// Asks for a decision which thread continues; `number` is one of those that can.
    private func hand(from number: Int) {
        var ready = [number]
        for other in states.indices where other != number && states[other] == .ready { ready.append(other) }
        guard ready.count > 1 else { return }
        let chosen = search.decide(ready, current: number)
        if chosen != number { give(to: chosen, from: number) }
    }

    /// Gives the turn to another thread, or to the driver if no thread is ready; thread `number` cannot continue, and
    /// `nil` stands for a thread that has ended.
    private func passTurn(from number: Int?) {
        var ready = states.indices.filter { states[$0] == .ready }
        if ready.isEmpty {
            // Every thread that could run only polls: each gets the turn in order, at most 10,000 times in all.
            ready = states.indices.filter { states[$0] == .spinning }
            if let first = ready.first(where: { $0 > number ?? -1 }) ?? ready.first { ready = [first] }
            spinCount += 1
        }
        guard let first = ready.first, spinCount < 10_000 else {
            isDeadlocked = states.contains { $0 != .ended }
            current = nil
            held.removeAll()
            // In a deadlock no thread wakes this one: it stays parked, with everything that it holds.
            give(driver, from: number)
            return
        }
        let chosen = ready.count > 1 ? search.decide(ready, current: nil) : first
        states[chosen] = .ready
        if chosen == number { return }
        give(to: chosen, from: number)
    }

    private func give(to chosen: Int, from number: Int?) {
        current = chosen
        give(workers[chosen].turn, from: number)
    }

    /// Passes the turn on and waits until thread `number` gets it back; does not wait if `number` is `nil`.
    private func give(_ turn: Turn, from number: Int?) {
        // Look up this thread's turn before passing the turn on: afterwards this thread must touch nothing here
        // (invariant 1), and the driver of a run that ended in a deadlock discards the workers.
        let own = number.map { workers[$0].turn }
        turn.give()
        own?.take()
    }
}

// SAFETY: @unchecked Sendable, because the flag is touched only while `monitor` is held.
/// The right to run, which one thread gives to another.
private final class Turn: @unchecked Sendable {
    private let monitor = Monitor(schedule: nil)
    private var isGiven = false

    func give() {
        monitor.withLock {
            isGiven = true
            monitor.wakeAll()
        }
    }

    func take() {
        monitor.withLock {
            while !isGiven { monitor.wait() }
            isGiven = false
        }
    }
}

/// A thread that runs its job each time it gets the turn while idle.
private final class Worker: Sendable {
    let turn = Turn()
    private let isDismissed = Atomic(false)

    init(job: @escaping @Sendable () -> Void) {
        let thread = Thread { [self] in
            while true {
                turn.take()
                if isDismissed.load(ordering: .relaxed) { return }
                job()
            }
        }
        thread.stackSize = 4 << 20
        thread.start()
    }

    /// Ends the thread the next time it is idle.
    func dismiss() {
        isDismissed.store(true, ordering: .relaxed)
        turn.give()
    }
}
