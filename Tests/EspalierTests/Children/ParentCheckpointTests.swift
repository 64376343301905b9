// Saves of children that fail after they have begun to change the parent: all is taken back, and the next save works.

import Espalier
import EspalierModel
import EspalierStore
import Synchronization
import Testing

@Suite struct ParentCheckpointTests {
    /// Makes one call of a store fail, or all from one on.
    private final class FailingCalls: Sendable {
        private struct State {
            var count = 0
            var failing = Int.max..<Int.max
            var hasFailed = false
        }
        private let state = Mutex(State())

        func note() throws(StoreError) {
            let fails = state.withLock { state in
                state.count += 1
                guard state.failing.contains(state.count) else { return false }
                state.hasFailed = true
                return true
            }
            if fails { throw .damagedContent(path: nil, entity: "Track", key: 1, reason: "a test has damaged it") }
        }

        /// Makes the call of this number fail, counted from 1 on, and all later ones if `isLasting`.
        func begin(at number: Int, isLasting: Bool) {
            state.withLock { $0 = State(failing: number..<(isLasting ? .max : number + 1)) }
        }

        /// Lets no more calls fail; returns whether one has failed.
        func end() -> Bool {
            state.withLock { state in
                state.failing = Int.max..<Int.max
                return state.hasFailed
            }
        }
    }

    /// Music of which the root has changed some, and a child much; the root has hardly anything in memory.
    private final class World {
        /// The changes of a context, as far as they are counted.
        struct Counts: Equatable {
            let inserted: Int
            let updated: Int
            let deleted: Int
            let undo: Int?
        }

        let calls: FailingCalls
        let coordinator: PersistentStoreCoordinator
        let root: ManagedObjectContext
        let child: ManagedObjectContext
        /// The object that is new in the root, and that the child deletes.
        let new: Listener
        /// The objects that the application holds, here and in the root.
        private var kept: [ManagedObject] = []

        init(hasUndo: Bool) throws {
            let (model, calls) = (try ManagedObjectModel(for: musicClasses), FailingCalls())
            self.calls = calls
            coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            coordinator.add(WatchedStore(model: model) { _ throws(StoreError) in try calls.note() })
            root = ManagedObjectContext(coordinator)
            if hasUndo { root.undoManager = UndoStack() }
            child = ManagedObjectContext(parent: root)
            new = Listener(context: root)
            new.name = "new"
            try fill()
            try changeRoot()
            try changeChild()
        }

        private func fill() throws {
            let writer = ManagedObjectContext(coordinator)
            let (listener, list) = (Listener(context: writer), Playlist(context: writer))
            (listener.name, list.name, list.owner) = ("Lea", "mine", listener)
            let albums = [("Ada", "a", ["a1", "a2", "a3"]), ("Ada", "b", ["b1", "b2"]), ("Bob", "c", ["c1"])]
            var artists: [String: Artist] = [:]
            for name in ["Ada", "Bob", "Cid"] {
                let artist = Artist(context: writer)
                (artist.name, artists[name]) = (name, artist)
            }
            for (name, title, names) in albums {
                let album = Album(context: writer)
                (album.title, album.artist) = (title, artists[name])
                for name in names {
                    let track = Track(context: writer)
                    (track.name, track.album) = (name, album)
                    if name.hasSuffix("1"), name != "c1" { list.tracks.insert(track) }
                }
            }
            try writer.save()
        }

        private func changeRoot() throws {
            try found(Artist.self, "name == 'Bob'", in: root).name = "Bobby"
            try root.delete(found(Artist.self, "name == 'Cid'", in: root))
            root.processPendingChanges()
        }

        private func changeChild() throws {
            let ada = try found(Artist.self, "name == 'Ada'", in: child)
            ada.founded = 1950
            try found(Artist.self, "name == 'Bobby'", in: child).founded = 1960
            let album = try found(Album.self, "title == 'a'", in: child)
            album.tracks.append(album.tracks.removeFirst())
            let list = try found(Playlist.self, "name == 'mine'", in: child)
            list.tracks.insert(try found(Track.self, "name == 'a2'", in: child))
            try found(Listener.self, "name == 'Lea'", in: child).favourite = album.tracks[0]
            let (new, track) = (Album(context: child), Track(context: child))
            (new.title, new.artist, track.name, track.album) = ("new", ada, "new 1", new)
            // The tracks follow, of which one is in a list.
            try child.delete(found(Album.self, "title == 'b'", in: child))
            try child.delete(found(Listener.self, "name == 'new'", in: child))
            child.processPendingChanges()
        }

        private func found<Object: ManagedObject>(
            _ type: Object.Type, _ format: String, in context: ManagedObjectContext
        ) throws -> Object {
            let request = FetchRequest<Object>(try FetchPredicate(format: format))
            let object = try #require(try context.fetch(request).first)
            kept.append(object)
            return object
        }

        func counts(of context: ManagedObjectContext) -> Counts {
            Counts(
                inserted: context.insertedObjects.count, updated: context.updatedObjects.count,
                deleted: context.deletedObjects.count, undo: context.undoManager?.undoCount)
        }

        /// All that a context shows, as texts.
        func content(of context: ManagedObjectContext) throws -> [String] {
            var texts = try context.fetch(FetchRequest<Artist>()).map { artist in
                "\(artist.name) \(artist.founded ?? 0) \(artist.albums.map(\.title).sorted())"
            }
            texts += try context.fetch(FetchRequest<Album>()).map { album in
                "\(album.title) of \(album.artist?.name ?? "nobody"): \(album.tracks.map(\.name))"
            }
            texts += try context.fetch(FetchRequest<Track>()).map { track in
                "\(track.name) on \(track.album?.title ?? "nothing"), in \(track.playlists.map(\.name).sorted())"
            }
            texts += try context.fetch(FetchRequest<Playlist>()).map { list in
                "\(list.name) of \(list.owner?.name ?? "nobody"): \(list.tracks.map(\.name).sorted())"
            }
            texts += try context.fetch(FetchRequest<Listener>()).map { "\($0.name) likes \($0.favourite?.name ?? "")" }
            return texts.sorted()
        }

        /// Saves, after a report of what could not be read before.
        func save(_ context: ManagedObjectContext) throws {
            do throws(ContextError) {
                try context.save()
            } catch {
                guard !error.violations.isEmpty, error.violations.allSatisfy({ $0.code == 133000 }) else { throw error }
                try context.save()
            }
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `a save of a child that a failing store ends leaves its parent and itself as they were`(
        isLasting: Bool, hasUndo: Bool
    ) throws {
        let untouched = try World(hasUndo: hasUndo)
        let before = try untouched.content(of: untouched.root)
        let saved = try World(hasUndo: hasUndo)
        try saved.child.save()
        let after = try saved.content(of: saved.root)
        #expect(before != after && after.contains("new of Ada: [\"new 1\"]"))

        var (number, failureCount, hasFailed) = (0, 0, false)
        repeat {
            number += 1
            let world = try World(hasUndo: hasUndo)
            let counts = [world.root, world.child].map(world.counts)
            world.calls.begin(at: number, isLasting: isLasting)
            let error = contextError { try world.child.save() }
            hasFailed = world.calls.end()
            if error != nil {
                failureCount += 1
                #expect(hasFailed, "call \(number): \(String(describing: error))")
                #expect([world.root, world.child].map(world.counts) == counts, "call \(number)")
                #expect(world.root.insertedObjects == [world.new], "call \(number)")
                #expect(try world.content(of: world.root) == before, "call \(number)")
                try world.save(world.child)
            }
            #expect(!world.child.hasChanges)
            #expect(try world.content(of: world.root) == after, "call \(number)")
            try world.save(world.root)
            let fresh = ManagedObjectContext(world.coordinator)
            #expect(try world.content(of: fresh) == after, "call \(number)")
        } while hasFailed
        #expect(failureCount > 3, "\(failureCount) of \(number) calls have failed")
    }

    @Test func `a save of a child that fails leaves it to its parent to run delete rules on newer rows`() throws {
        var (number, failureCount, hasFailed) = (0, 0, false)
        repeat {
            number += 1
            let (model, calls) = (try ManagedObjectModel(for: musicClasses), FailingCalls())
            let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            coordinator.add(WatchedStore(model: model) { _ throws(StoreError) in try calls.note() })
            let writer = ManagedObjectContext(coordinator)
            let (owner, written, track) = (Listener(context: writer), Playlist(context: writer), Track(context: writer))
            (owner.name, written.name, written.owner, track.name) = ("Lea", "mine", owner, "a1")
            try writer.save()
            let root = ManagedObjectContext(coordinator)
            root.automaticallyMergesChangesFromParent = true
            let child = ManagedObjectContext(parent: root)
            let (list, listener) = (try root[written.ref], try child[owner.ref])
            try root.delete(root[track.ref])
            root.processPendingChanges()
            root.propagatesDeletesAtEndOfEvent = false
            listener.name = "Eva"
            written.tracks.insert(track)
            try writer.save()
            root.processPendingChanges()
            #expect(!list.tracks.isEmpty, "rules ran that wait for the save")

            calls.begin(at: number, isLasting: false)
            if contextError({ try child.save() }) != nil { failureCount += 1 }
            hasFailed = calls.end()
            root.propagatesDeletesAtEndOfEvent = true
            root.processPendingChanges()

            #expect(list.tracks.isEmpty, "call \(number)")
        } while hasFailed
        #expect(failureCount > 0, "none of \(number) calls has failed")
    }

    // MARK: Hooks of the parent

    /// A stored door that no root has in memory, and a child that has changed it.
    private func doors(
        _ watch: @escaping @Sendable (WatchedStore.Call) throws(StoreError) -> Void = { _ in }
    ) throws -> (root: ManagedObjectContext, child: ManagedObjectContext, door: Door) {
        let model = try ManagedObjectModel(for: [Door.self])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(WatchedStore(model: model, watch))
        let writer = ManagedObjectContext(coordinator)
        Door(context: writer).number = 1
        try writer.save()
        let root = ManagedObjectContext(coordinator)
        let child = ManagedObjectContext(parent: root)
        let door = try #require(try child.fetch(FetchRequest<Door>()).first)
        door.number = 2
        return (root, child, door)
    }

    @Test func `an object that a hook of the parent inserts is taken back with the child's changes`() throws {
        let fails = Mutex(false)
        let (root, child, door) = try doors { call throws(StoreError) in
            guard case .reserve = call, fails.withLock(\.self) else { return }
            throw .closed
        }
        root.userInfo[Door.actionKey] = { (door: Door) in
            if let context = door.managedObjectContext { Door(context: context).number = 10 }
        }
        fails.withLock { $0 = true }

        guard case .store(.closed)? = contextError({ try child.save() }) else {
            Issue.record("the new door gets no ID")
            return
        }

        #expect(!root.hasChanges && child.updatedObjects == [door] && door.number == 2)
        #expect(try root.fetch(FetchRequest<Door>()).map(\.number) == [1])
        fails.withLock { $0 = false }
        try child.save()
        #expect(try root.fetch(FetchRequest<Door>()).map(\.number).contains(2))
    }

    /// A root that reads the newest generation and has the former row of one of its doors, which a child has changed.
    private struct OldRow {
        let root: ManagedObjectContext
        let child: ManagedObjectContext
        let old: Door
        /// The door of the child that is `old` in the root.
        let door: Door
        /// Another door of the root, number 10.
        let other: Door
        /// The generation with the former row.
        let former: QueryGenerationToken

        /// Makes `old` read its former row again each time when it becomes a fault, and change `other`; the last time
        /// it only changes `other`, and calls `atEnd`.
        func readAgain(_ count: Int, atEnd: @escaping () -> Void = {}) {
            root.userInfo[Door.afterFaultKey] = { [root, former, other] (old: Door) in
                other.number += 1
                guard count > 1 else { return atEnd() }
                #expect(throws: Never.self) { try root.setQueryGeneration(from: former) }
                #expect(old.number == 1)
                #expect(throws: Never.self) { try root.setQueryGeneration(from: nil) }
                readAgain(count - 1, atEnd: atEnd)
            }
        }
    }

    private func oldRow(
        _ watch: @escaping @Sendable (WatchedStore.Call) throws(StoreError) -> Void = { _ in }
    ) throws -> OldRow {
        let root = try doors(watch).root
        let old = try #require(try root.fetch(FetchRequest<Door>()).first)
        #expect(old.number == 1)
        let former = try root.queryGenerationToken
        let writer = ManagedObjectContext(root.persistentStoreCoordinator)
        Door(context: writer).number = 10
        try writer[old.ref].number = 7
        try writer.save()
        // The root reads the newest generation, and the object in use keeps its row.
        var request = FetchRequest<Door>(try FetchPredicate(format: "number == 10"))
        request.shouldRefreshRefetchedObjects = true
        let other = try #require(try root.fetch(request).first)
        #expect(other.number == 10 && old.number == 1)
        let child = ManagedObjectContext(parent: root)
        let door = try child[old.ref]
        #expect(door.number == 7)
        door.number = 8
        return OldRow(root: root, child: child, old: old, door: door, other: other, former: former)
    }

    @Test(arguments: [1, 3])
    func `changes by hooks while the parent adopts newer rows outlast a save of a child that fails`(
        _ hookCount: Int
    ) throws {
        let fails = Mutex(false)
        let scene = try oldRow { call throws(StoreError) in
            guard case .reserve = call, fails.withLock(\.self) else { return }
            throw .closed
        }
        let (root, child, other) = (scene.root, scene.child, scene.other)
        scene.readAgain(hookCount) {
            root.userInfo[Door.actionKey] = { (door: Door) in
                if let context = door.managedObjectContext { Door(context: context).number = 12 }
            }
        }
        fails.withLock { $0 = true }

        guard case .store(.closed)? = contextError({ try child.save() }) else {
            Issue.record("the new door gets no ID")
            return
        }

        #expect(root.updatedObjects == [other] && other.number == 10 + hookCount && root.insertedObjects.isEmpty)
        #expect(child.updatedObjects == [scene.door] && scene.door.number == 8)
        fails.withLock { $0 = false }
        try child.save()
        #expect(scene.old.number == 8 && other.number == 10 + hookCount)
    }

    @Test func `a hook that changes the parent whenever that adopts a newer row ends the save of a child in an error`()
        throws
    {
        let scene = try oldRow()
        scene.readAgain(.max)

        guard case .unsettledSave(rounds: 1000)? = contextError({ try scene.child.save() }) else {
            Issue.record("the save came to an end")
            return
        }

        #expect(scene.root.updatedObjects == [scene.other] && scene.child.updatedObjects == [scene.door])
        scene.root.userInfo[Door.afterFaultKey] = nil
        try scene.child.save()
        #expect(scene.old.number == 8 && !scene.child.hasChanges)
    }

    @Test func `a hook of the parent cannot save, undo or take back half of a child's changes, nor show them`() throws {
        let (root, child, _) = try doors()
        root.undoManager = UndoStack()
        let sibling = ManagedObjectContext(parent: root)
        #expect(try sibling.fetch(FetchRequest<Door>()).map(\.number) == [1])
        let answers = HookAnswers()
        root.userInfo[Door.actionKey] = { (_: Door) in answers.ask(root, sibling) }

        try child.save()

        #expect(answers.seen == [1] && answers.errors.count == 2 && answers.errors[1] != nil && answers.refusesUndo)
        guard case .alreadySaving(hook: "the save of a child", object: nil)? = answers.errors.first ?? nil else {
            Issue.record("\(answers.errors)")
            return
        }
        #expect(root.recordedViolations.map { "\($0)".contains("rollback()") } == [true])
        #expect(try root.fetch(FetchRequest<Door>()).map(\.number).sorted() == [2, 3])
        #expect(try sibling.fetch(FetchRequest<Door>()).map(\.number).sorted() == [2, 3])
        #expect(root.undoManager?.undoCount == 1)
        try root.undo()
        #expect(try root.fetch(FetchRequest<Door>()).map(\.number) == [1])
    }
}

/// The answers to calls in a hook.
private final class HookAnswers {
    private(set) var errors: [ContextError?] = []
    private(set) var refusesUndo = false
    private(set) var seen: [Int] = []

    func ask(_ root: ManagedObjectContext, _ sibling: ManagedObjectContext) {
        Door(context: root).number = 3
        errors.append(contextError { try root.save() })
        errors.append(contextError { try sibling.save() })
        do { try root.undo() } catch { refusesUndo = true }
        root.rollback()
        root.processPendingChanges()
        seen = (try? sibling.fetch(FetchRequest<Door>()).map(\.number)) ?? []
        sibling.refreshAllObjects()
    }
}

/// An object that does what its context says when its fault fires, and after it has become a fault again.
private final class Door: ManagedObject {
    static let actionKey = "the action of doors"
    static let afterFaultKey = "the action of doors that have become faults"

    override class var entityDescription: EntityDescription {
        EntityDescription("Door", properties: [EntityDescription._property("number", Int.self, defaultValue: 0)])
    }
    var number: Int {
        get { _get("number", at: 0) }
        set { _set("number", at: 0, newValue) }
    }

    override func awakeFromFetch() {
        act(Self.actionKey)
    }

    override func didTurnIntoFault() { act(Self.afterFaultKey) }

    private func act(_ key: String) {
        guard let action = managedObjectContext?.userInfo.removeValue(forKey: key) as? (Door) -> Void else { return }
        action(self)
    }
}
