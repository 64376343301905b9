// Background contexts: the threads and the order of their work, and the calls that are allowed inside it.

import Dispatch
import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import Testing

@Suite struct BackgroundContextTests {
    private let coordinator: PersistentStoreCoordinator

    init() throws {
        coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        try coordinator.addPersistentStore(.inMemory)
    }

    private struct Refused: Error, Equatable {
        let number: Int
    }

    // MARK: Threads

    @Test func `contexts that wait for a disk do not hold up other tasks, however many they are`() async throws {
        let model = coordinator.managedObjectModel
        let slow = PersistentStoreCoordinator(managedObjectModel: model)
        // The time limit passes only in case of a fault; other tests may hold the pool's threads for minutes on a busy
        // machine.
        let gate = Gate(seconds: 600)
        slow.add(WatchedStore(model: model) { call in if case .fetch = call { gate.wait() } })
        let contextCount = 2 * ProcessInfo.processInfo.activeProcessorCount + 2

        let (fetched, answers) = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<contextCount {
                group.addTask {
                    try? await BackgroundContext(slow).perform { context in
                        try context.fetch(FetchRequest<Artist>()).count
                    }
                }
            }
            while gate.waitingCount < contextCount, gate.timedOutCount == 0 {
                try? await Task.sleep(for: .milliseconds(1))
            }
            var answers: [Int] = []
            for number in 0..<100 { answers.append(await Task.detached { number }.value) }
            gate.release(contextCount)
            var fetched: [Int?] = []
            for await count in group { fetched.append(count) }
            return (fetched, answers)
        }

        #expect(answers == Array(0..<100))
        #expect(fetched == Array(repeating: 0, count: contextCount))
        #expect(gate.timedOutCount == 0)
    }

    // MARK: Order

    @Test func `blocks run in the order in which they were enqueued, one at a time`() async {
        let background = BackgroundContext(coordinator)
        let order = Mutex<[Int]>([])
        let running = Mutex((now: 0, max: 0))

        for number in 0..<200 {
            background.enqueue { _ in
                running.withLock { $0 = ($0.now + 1, max($0.max, $0.now + 1)) }
                order.withLock { $0.append(number) }
                running.withLock { $0.now -= 1 }
            }
        }
        let seen = background.performAndWait { _ in order.withLock(\.self) }

        #expect(seen == Array(0..<200) && running.withLock(\.max) == 1)
        let last = await background.perform(schedule: .enqueued) { _ in order.withLock(\.count) }
        #expect(last == 200)
    }

    @Test func `an enqueued block comes after those that are there, also if it is waited for`() async {
        let background = BackgroundContext(coordinator)
        let gate = DispatchSemaphore(value: 0)
        let order = Mutex<[String]>([])
        background.enqueue { _ in
            gate.wait()
            order.withLock { $0.append("first") }
        }
        background.enqueue { _ in order.withLock { $0.append("second") } }

        async let third: Void = background.perform(schedule: .enqueued) { _ in order.withLock { $0.append("third") } }
        gate.signal()
        await third

        #expect(order.withLock(\.self) == ["first", "second", "third"])
    }

    private final class Order: Sendable {
        private let names = Mutex<[String]>([])
        var all: [String] { names.withLock(\.self) }
        func add(_ name: String) { names.withLock { $0.append(name) } }
    }

    private func enqueueAndRun(
        _ schedule: BackgroundContext.Schedule, _ order: Order, on background: isolated BackgroundContext
    ) async {
        background.enqueue { _ in order.add("before") }
        await background.perform(schedule: schedule) { _ in order.add("\(schedule)") }
    }

    @Test func `on the context's executor a block runs at once, or after what is enqueued, as its caller says`() async {
        let background = BackgroundContext(coordinator)
        let order = Order()

        await enqueueAndRun(.immediate, order, on: background)
        background.performAndWait { _ in }
        await enqueueAndRun(.enqueued, order, on: background)

        #expect(order.all == ["immediate", "before", "before", "enqueued"])
    }

    // MARK: performAndWait

    @Test func `performAndWait inside of a block of the context runs at once, through other contexts as well`() async {
        let (first, second) = (BackgroundContext(coordinator), BackgroundContext(coordinator))

        let contexts = await first.perform { context in
            let own = ObjectIdentifier(context)
            return first.performAndWait { outer in
                let outer = ObjectIdentifier(outer)
                return second.performAndWait { other in
                    let other = ObjectIdentifier(other)
                    return first.performAndWait { inner in [own, outer, other, ObjectIdentifier(inner)] }
                }
            }
        }

        #expect(contexts[0] == contexts[1] && contexts[0] == contexts[3] && contexts[0] != contexts[2])
    }

    @Test func `performAndWait gives back values and errors`() async throws {
        let background = BackgroundContext(coordinator)

        let name = try background.performAndWait { context throws(ContextError) in
            let artist = Artist(context: context)
            artist.name = "Nina"
            try context.save()
            return artist.name
        }
        do throws(Refused) {
            try background.performAndWait { _ throws(Refused) in throw Refused(number: 7) }
            Issue.record("no error")
        } catch {
            #expect(error == Refused(number: 7))
        }
        do throws(Refused) {
            try await background.perform(schedule: .enqueued) { _ throws(Refused) in throw Refused(number: 8) }
            Issue.record("no error")
        } catch {
            #expect(error == Refused(number: 8))
        }

        #expect(name == "Nina")
        #expect(try await background.perform { try $0.count(for: FetchRequest<Artist>()) } == 1)
    }

    @Test func `many threads may wait for one context at a time`() async {
        let background = BackgroundContext(coordinator)
        let count = Mutex(0)

        DispatchQueue.concurrentPerform(iterations: 64) { _ in
            background.performAndWait { _ in
                let seen = count.withLock(\.self)
                count.withLock { $0 = seen + 1 }
            }
        }

        #expect(count.withLock(\.self) == 64)
    }

    // MARK: Events

    @Test func `an event ends with a perform block and not with performAndWait`() async throws {
        let background = BackgroundContext(coordinator)
        let id = try await background.perform { context in
            let artist = Artist(context: context)
            artist.name = "Nina"
            let album = Album(context: context)
            (album.title, album.artist) = ("Pastel Blues", artist)
            try context.save()
            return artist.objectID
        }

        for waits in [true, false] {
            let body = { @Sendable (context: ManagedObjectContext) throws in
                // A change keeps the album in memory: the delete rules that run before the save reach only objects in
                // memory.
                for album in try context.fetch(FetchRequest<Album>()) { album.title = "Wild Is the Wind" }
                try context.delete(context.existingObject(with: id))
            }
            if waits { try background.performAndWait(body) } else { try await background.perform(body) }
            let count = background.performAndWait { $0.deletedObjects.count }

            #expect(count == (waits ? 1 : 2))
            background.performAndWait { $0.rollback() }
        }
    }

    @Test func `enqueued blocks end an event each, and keep the context until they have run`() throws {
        let done = DispatchSemaphore(value: 0)
        let deleted = Mutex<[Int]>([])
        do {
            let background = BackgroundContext(coordinator, name: "import")
            background.enqueue { context in
                let artist = Artist(context: context)
                artist.name = "Nina"
                let album = Album(context: context)
                (album.title, album.artist) = ("Pastel Blues", artist)
                do { try context.save() } catch { Issue.record("\(error)") }
                // A change keeps the album in memory: the delete rules that run before the save reach only objects in
                // memory.
                album.title = "Wild Is the Wind"
                do { try context.delete(artist) } catch { Issue.record("\(error)") }
            }
            background.enqueue { context in
                deleted.withLock { $0.append(context.deletedObjects.count) }
                #expect(context.name == "import")
                done.signal()
            }
        }

        done.wait()

        #expect(deleted.withLock(\.self) == [2])
    }
}
