// The operations of `bench --growth` that tell of changes, or that wait for another thread.

import BenchKit
import Dispatch
import Espalier
import Foundation
import Observation
import Synchronization

/// An actor of the application that owns a context.
private actor Librarian: ContextActor {
    let isolatedContext: IsolatedContext

    init(_ coordinator: PersistentStoreCoordinator) { isolatedContext = IsolatedContext(coordinator) }

    /// The sum of a number of all papers.
    func sum() throws -> Int {
        var sum = 0
        for paper in try context.fetch(FetchRequest<Paper>()) { sum &+= paper.number }
        return sum
    }
}

extension GrowthCases {
    /// Runs `body` in a task, and waits for its end.
    static func wait<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let isOver = DispatchSemaphore(value: 0)
        let outcome = Mutex<Result<Value, any Error>?>(nil)
        Task {
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            isOver.signal()
        }
        isOver.wait()
        return try found(outcome.withLock { $0 }).get()
    }

    // MARK: Notices

    /// Changes all papers of a new context and saves them.
    private static func saveAll(_ coordinator: PersistentStoreCoordinator) throws {
        let context = ManagedObjectContext(coordinator)
        for paper in try all(context) { paper.touched += 1 }
        try context.save()
    }

    static let notices: [GrowthCase] = [
        GrowthCase("savedChanges: a save of all, and its element", 1) { store in
            let coordinator = store.coordinator
            return {
                let count = try wait {
                    var iterator = coordinator.savedChanges.makeAsyncIterator()
                    try saveAll(coordinator)
                    return await iterator.next()?.updated.count ?? 0
                }
                guard count == store.count else { throw WrongResult(expected: store.count, found: count) }
            }
        },
        GrowthCase("remoteChanges: a save of one among all, and its element", 0, work: .file) { store in
            let coordinator = store.coordinator
            let id = try found(try ids(store).first)
            return {
                let generation = try wait {
                    var iterator = coordinator.remoteChanges(every: .milliseconds(1)).makeAsyncIterator()
                    let context = ManagedObjectContext(coordinator)
                    try context.object(with: id, as: Paper.self).touched += 1
                    try context.save()
                    return await iterator.next()?.generation ?? 0
                }
                guard generation > 0 else { throw WrongResult(expected: 1, found: 0) }
            }
        },
        GrowthCase("isObservable: read and change of each", 1) { store in
            let context = store.context()
            context.isObservable = true
            let papers = try all(context)
            return {
                for paper in papers { paper.touched += paper.number }
                context.processPendingChanges()
            }
        },
        GrowthCase("isObservable: a read of all that is followed, and a change of each", 1, work: .tables) { store in
            let context = store.context()
            context.isObservable = true
            let papers = try all(context)
            return {
                withObservationTracking {
                    for paper in papers { blackHole(paper.touched) }
                } onChange: {
                }
                for paper in papers { paper.touched += 1 }
                context.processPendingChanges()
            }
        },
        GrowthCase("autosave of all, changed", 1) { store in
            let context = store.context()
            context.autosaveEnabled = true
            let papers = try all(context)
            return {
                for paper in papers { paper.touched += 1 }
                context.processPendingChanges()
                if context.hasChanges { throw WrongResult(expected: 0, found: 1) }
            }
        },
        GrowthCase("autosave of one among all", 0, work: .file) { store in
            let context = store.context()
            context.autosaveEnabled = true
            let papers = try all(context)
            return {
                papers[papers.count / 2].touched += 1
                context.processPendingChanges()
                if context.hasChanges { throw WrongResult(expected: 0, found: 1) }
            }
        },
        GrowthCase("save of all, with observers of each kind", 1, work: .tables) { store in
            let context = store.context()
            typealias Context = ManagedObjectContext
            let papers = try all(context)
            var tokens: [ObservationToken] = []
            tokens.append(context.addObserver(for: Context.WillSaveMessage.self) { blackHole($0.context.hasChanges) })
            tokens.append(context.addObserver(for: Context.DidSaveMessage.self) { blackHole($0.updated.count) })
            tokens.append(
                context.addObserver(for: Context.ObjectsDidChangeMessage.self) { blackHole($0.updated.count) })
            tokens.append(context.addObserver(for: Context.DidMergeChangesMessage.self) { blackHole($0.changes) })
            tokens.append(context.addObserver(for: Context.DidBreakConstraintsMessage.self) { blackHole($0.conflicts) })
            return {
                for paper in papers { paper.touched += 1 }
                try context.save()
                for token in tokens { token.cancel() }
                tokens = []
            }
        },
    ]

    // MARK: Other threads

    /// A request that is read on another thread, in a context without changes.
    private static func aside(
        _ name: String, _ power: Double = 1,
        _ body: @escaping @Sendable (PersistentStoreCoordinator) async throws -> Int
    ) -> GrowthCase {
        GrowthCase("asynchronous: " + name, power, work: power < 1 ? .steps : .rows) { store in
            let coordinator = store.coordinator
            return { blackHole(try wait { try await body(coordinator) }) }
        }
    }

    static let asynchronous: [GrowthCase] = [
        aside("fetch of all") { coordinator in
            let context = ManagedObjectContext(coordinator)
            return try await context.fetch(FetchRequest<Paper>(), progress: FetchProgress()).count
        },
        aside("fetchIDs of all") { coordinator in
            let context = ManagedObjectContext(coordinator)
            return try await context.fetchIDs(FetchRequest<Paper>(), progress: FetchProgress()).count
        },
        aside("count of all", 0) { coordinator in
            let context = ManagedObjectContext(coordinator)
            return try await context.count(for: FetchRequest<Paper>(), progress: FetchProgress())
        },
        aside("values of all") { coordinator in
            let request = ValueRequest(entityName: "Paper", columns: ["number", "word"])
            let context = ManagedObjectContext(coordinator)
            return try await context.fetch(request, progress: FetchProgress()).count
        },
        aside("a block of a background context that reads all") { coordinator in
            try await BackgroundContext(coordinator).perform { context in
                var sum = 0
                for paper in try all(context) { sum &+= paper.number }
                return sum
            }
        },
        aside("a method of a context's actor that reads all") { coordinator in
            try await Librarian(coordinator).sum()
        },
    ]
}
