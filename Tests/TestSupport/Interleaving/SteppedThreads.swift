// Threads of which one runs at a time, until it comes to a step: there a decision says who goes on.
//
// The threads are real, so they run the engine as it is; nothing but the decisions orders them, so a list of decisions
// is a run that can be repeated. Whoever holds the turn asks for the decision itself: as long as it goes on no thread
// of the operating system is switched, which is what makes thousands of runs per second.
//
// Invariants
//   1. Exactly one of driver and threads has the turn; everything here is touched only by who has it. Handing the turn
//      over goes through a semaphore, which orders memory.
//   2. A thread that waits for a monitor is not ready until it is given back; one that yields is not ready until
//      another took a step. If none is ready and not all have ended, the run has a deadlock; its threads stay behind
//      parked, and the next run gets others.

package import EspalierEngine
import Foundation
import Synchronization

/// What a thread is about to do at a step.
package enum Step: Hashable, Sendable {
    /// Begin.
    case start
    /// Do what the test calls by this name.
    case named(String)
    /// Call the file system.
    case file(IOOperation, FileRole)
    /// Take a monitor.
    case monitor
    /// Go on after giving a monitor back.
    case release
    /// Go on after having offered the turn.
    case yield
    /// Do the next of several atomic operations.
    case atomic
    /// Look again after a wait.
    case resume
}

/// How a run of threads ended.
package enum SteppedOutcome: Sendable {
    case finished
    /// Nobody could go on: what each thread was about to do.
    case deadlock(String)
}

// SAFETY: @unchecked Sendable by invariant 1.
/// Threads of which one runs at a time.
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

    /// - Parameter isStep: which steps ask for a decision; the others are passed over.
    package init(isStep: @escaping @Sendable (Step) -> Bool) { self.isStep = isStep }

    deinit { for worker in workers { worker.dismiss() } }

    /// Runs each of `bodies` on a thread of its own; returns when all have ended, or none can go on.
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

    /// What a thread does with its first turn.
    private func work(_ number: Int) {
        CurrentSchedule.$value.withValue(self) {
            // What the body keeps alive ends here, while this thread still has the turn.
            let body = bodies[number]
            bodies[number] = {}
            body()
        }
        states[number] = .ended
        noteProgress()
        passTurn(from: nil)
    }

    /// A place where another thread may go on instead.
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
        // Who yields again without having done anything waits for another; the first time it may as well go on.
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

    /// A thread did something: those that yielded may look again.
    private func noteProgress() {
        spinCount = 0
        for number in states.indices where states[number] == .spinning { states[number] = .ready }
    }

    /// Lets the decision say who goes on, `number` being able to.
    private func hand(from number: Int) {
        var ready = [number]
        for other in states.indices where other != number && states[other] == .ready { ready.append(other) }
        guard ready.count > 1 else { return }
        let chosen = search.decide(ready, current: number)
        if chosen != number { give(to: chosen, from: number) }
    }

    /// Gives the turn to another thread, or to the driver if there is none; `number` cannot go on, or has ended.
    private func passTurn(from number: Int?) {
        var ready = states.indices.filter { states[$0] == .ready }
        if ready.isEmpty {
            // All that could go on only look again and again: each gets its turn, but not for ever.
            ready = states.indices.filter { states[$0] == .spinning }
            if let first = ready.first(where: { $0 > number ?? -1 }) ?? ready.first { ready = [first] }
            spinCount += 1
        }
        guard let first = ready.first, spinCount < 10_000 else {
            isDeadlocked = states.contains { $0 != .ended }
            current = nil
            held.removeAll()
            // In a deadlock nobody will wake it: the thread stays parked, with all that it holds.
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

    /// Gives the turn away and waits until it comes back to `number`, which is nil for a thread that has ended.
    private func give(_ turn: Turn, from number: Int?) {
        // Looked up before the turn is given: afterwards nothing here is this thread's to touch (invariant 1), and
        // the driver of a run that ended in a deadlock puts the workers away.
        let own = number.map { workers[$0].turn }
        turn.give()
        own?.take()
    }
}

// SAFETY: @unchecked Sendable, because the flag is touched only while `monitor` is held.
/// The right to run, as one thread gives it to another.
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

/// A thread that does its job whenever it gets the turn while it is idle.
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

    /// Lets the thread end.
    func dismiss() {
        isDismissed.store(true, ordering: .relaxed)
        turn.give()
    }
}
