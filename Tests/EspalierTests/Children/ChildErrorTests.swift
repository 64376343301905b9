// Child contexts whose parent, siblings or stores have moved away under them, and misuse of them: each has its error.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct ChildErrorTests {
    private func artist(_ name: String, in context: ManagedObjectContext) throws -> Artist {
        let request = FetchRequest<Artist>(try FetchPredicate(format: "name == %@", name))
        return try #require(try context.fetch(request).first)
    }

    /// The conflicts for which a save is refused; none if it is not.
    private func conflicts(_ context: ManagedObjectContext) -> [MergeConflict] {
        if case .conflicts(let found)? = contextError({ try context.save() }) { found } else { [] }
    }

    @Test(arguments: StoreKind.allCases)
    func `a child keeps its parent, and can save to it though nobody else does`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        weak var middle: ManagedObjectContext?
        let child: ManagedObjectContext
        do {
            let parent = ManagedObjectContext(parent: stack.context)
            (child, middle) = (ManagedObjectContext(parent: parent), parent)
        }
        Artist(context: child).name = "Ada"

        try child.save()
        try child.parent?.save()
        try stack.context.save()

        #expect(middle === child.parent && middle != nil)
        #expect(try stack.stored(Artist.self).map(\.name) == ["Ada"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a deletion in the parent is a conflict for a child that has changed the object`(_ kind: StoreKind) throws {
        for policy in [MergePolicy.objectTrump, .storeTrump] {
            for merges in [true, false] {
                let stack = try Stack(kind)
                try stack.makeMusic(artists: 2, tracks: 1)
                let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
                child.automaticallyMergesChangesFromParent = merges
                let changed = try artist("Artist 0", in: child)
                changed.name = "Bea"
                try root.delete(artist("Artist 0", in: root))

                let found = conflicts(child)
                #expect(found.map(\.object) == [changed.objectID] && found.first?.newVersion == nil)
                #expect(changed.name == "Bea" && child.hasChanges)
                child.mergePolicy = policy
                try child.save()

                let isKept = policy == .objectTrump
                #expect(changed.isDeleted == !isKept)
                #expect(try root.fetch(FetchRequest<Artist>()).map(\.name).contains("Bea") == isKept)
                try root.saveAndCompare()
                let names = isKept ? ["Artist 1", "Bea"] : ["Artist 1"]
                #expect(try stack.stored(Artist.self).map(\.name).sorted() == names)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a parent that is rolled back or reset leaves its children conflicts, and no half objects`(
        _ kind: StoreKind
    ) throws {
        for (resets, merges) in [(true, false), (false, false), (true, true), (false, true)] {
            let stack = try Stack(kind)
            try stack.makeMusic(artists: 1, tracks: 1)
            let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
            child.automaticallyMergesChangesFromParent = merges
            let new = Artist(context: root)
            new.name = "new"
            try artist("Artist 0", in: root).name = "Bea"
            let (here, stored) = (try artist("new", in: child), try artist("Bea", in: child))
            here.founded = 1
            stored.name = "Cleo"
            let untouched = try #require(stored.albums.first)

            if resets { root.reset() } else { root.rollback() }

            let found = conflicts(child)
            // Whether a merge has found it before or the save does, all is in one report.
            #expect(Set(found.map(\.object)) == [here.objectID, stored.objectID])
            #expect(found.allSatisfy { ($0.newVersion == nil) == ($0.object == here.objectID) })
            #expect(child.hasChanges && !root.hasChanges && !untouched.isDeleted)
            child.mergePolicy = .objectTrump
            try child.save()
            try root.saveAndCompare()
            #expect(try stack.stored(Artist.self).map(\.name).sorted() == ["Cleo", "new"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what a sibling has related to a deleted object is a conflict or follows the rules`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let maker = stack.newContext()
        let stored = Listener(context: maker)
        stored.name = "Lea"
        try maker.save()
        let root = stack.newContext()
        let (first, second) = (ManagedObjectContext(parent: root), ManagedObjectContext(parent: root))
        for child in [first, second] { child.automaticallyMergesChangesFromParent = false }
        let (lea, gone) = (
            try #require(try first.fetch(FetchRequest<Listener>()).first),
            try #require(try second.fetch(FetchRequest<Listener>()).first)
        )
        let list = Playlist(context: first)
        (list.name, list.owner) = ("mine", lea)
        try second.delete(gone)
        #expect(try second.count(for: FetchRequest<Playlist>()) == 0)
        try first.save()

        let denied = violations { try second.save() }

        #expect(denied.map(\.property) == ["playlists"] && denied.map(\.object) == [gone.objectID])
        #expect(!gone.isFault && second.deletedObjects == [gone] && root.deletedObjects.isEmpty)
        second.rollback()
        second.refreshAllObjects()
        // An album that only one child has, and an artist that the other one deletes.
        let album = Album(context: first)
        (album.title, album.artist) = ("late", try artist("Artist 0", in: first))
        try second.delete(artist("Artist 0", in: second))
        try second.save()
        guard case .references(let missing)? = contextError({ try first.save() }) else {
            Issue.record("the artist is deleted in the parent")
            return
        }
        #expect(missing.map(\.kind) == [.missing] && missing.map(\.owner) == [album.objectID])
        #expect(root.insertedObjects.count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a cascade takes what a sibling has added, and the child is told`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let root = stack.context
        let (first, second) = (ManagedObjectContext(parent: root), ManagedObjectContext(parent: root))
        second.automaticallyMergesChangesFromParent = false
        let doomed = try artist("Artist 0", in: second)
        #expect(doomed.albums.count == 1)
        let album = Album(context: first)
        (album.title, album.artist) = ("late", try artist("Artist 0", in: first))
        try first.save()
        try second.delete(doomed)

        try second.save()

        #expect(try root.count(for: FetchRequest<Album>()) == 0 && second.count(for: FetchRequest<Album>()) == 0)
        #expect(try first.count(for: FetchRequest<Album>()) == 0)
        #expect(album.title.isEmpty && album.isDeleted)
        try root.saveAndCompare()
        #expect(try stack.stored(Album.self).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `an object of the parent is refused in a child, and the other way round`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let (above, here) = (try artist("Artist 0", in: root), try artist("Artist 0", in: child))

        guard case .objectOfOtherContext? = contextError({ try child.delete(above) }),
            case .objectOfOtherContext? = contextError({ try child.insert(above) }),
            case .objectOfOtherContext? = contextError({ try root.delete(here) })
        else {
            Issue.record("the object is of another context")
            return
        }
        let album = Album(context: child)
        album.title = "mixed"
        album.artist = above

        let refused = violations { try child.save() }
        #expect(refused.map(\.property) == ["artist"] && album.artist == nil && !root.hasChanges)
        try child.save()
        #expect(try root.fetch(FetchRequest<Album>()).count == 2)
    }

    @Test func `a save to a parent that is saving is refused, and both saves can be made one after the other`() throws {
        let board = try BeadBoard(.memory, count: 1)
        let root = ManagedObjectContext(board.coordinator)
        let child = ManagedObjectContext(parent: root)
        let grandchild = ManagedObjectContext(parent: child)
        let (above, below) = (try board.bead(0, in: root), try board.bead(0, in: grandchild))
        try below.setValue(.integer(5), forKey: "b")
        try above.setValue(.integer(1), forKey: "a")
        var errors: [ContextError?] = []
        above.onSave = { _ in
            errors.append(contextError { try grandchild.save() })
            // To read the parent is allowed.
            errors.append(contextError { _ = try child.count(for: FetchRequest<Bead>()) })
        }

        try root.save()

        guard case .alreadySaving(hook: "willSave", object: above.objectID)? = errors.first else {
            Issue.record("\(errors)")
            return
        }
        #expect(errors.count == 2 && errors[1] == nil && grandchild.hasChanges)
        for context in [grandchild, child, root] { try context.save() }
        #expect(try board.stored()[0]?[.a] == [1] && board.stored()[0]?[.b] == [5])
    }

    @Test func `hooks are called in the context where the application works, and not again above it (MO-27)`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: [Diary.self]))
        try coordinator.addPersistentStore(.inMemory)
        let root = ManagedObjectContext(coordinator)
        let child = ManagedObjectContext(parent: root)
        let diary = Diary(context: child)
        diary.text = "new"
        try child.save()
        let above = try #require(root.registeredObject(for: diary.objectID) as? Diary)
        #expect(diary.calls == ["awakeFromInsert", "willSave", "didSave"] && above.calls.isEmpty)

        try root.save()
        try child.delete(diary)
        try child.save()

        #expect(diary.calls.suffix(3) == ["prepareForDeletion", "willSave", "didSave"])
        #expect(above.calls == ["willSave", "didSave"] && above.isDeleted && above.text == "new")
    }

    @Test(arguments: StoreKind.allCases)
    func `a child of a parent without stores reads and saves nothing, and says why`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let child = ManagedObjectContext(parent: ManagedObjectContext(parent: stack.context))
        let known = try artist("Artist 0", in: child)
        for store in stack.coordinator.persistentStores { try stack.coordinator.remove(store) }
        Album(context: child).title = "lost"

        guard case .noStore(entity: "Album")? = contextError({ try child.save() }),
            case .noStore(entity: "Artist")? = contextError({ _ = try child.fetch(FetchRequest<Artist>()) }),
            case .noStore(entity: "Artist")? = contextError({ _ = try child.count(for: FetchRequest<Artist>()) })
        else {
            Issue.record("there is no store")
            return
        }
        #expect(known.name == "Artist 0" && child.hasChanges && child.insertedObjects.count == 1)
        try stack.coordinator.addPersistentStore(.inMemory)
        for context in [child, try #require(child.parent), stack.context] { try context.save() }
        #expect(try stack.stored(Album.self).map(\.title) == ["lost"] && !child.hasChanges)
    }

    @Test func `a child of a parent on a read-only store cannot save new objects, and says so`() throws {
        let store = ReadOnlyStore(try ManagedObjectModel(for: musicClasses))
        let coordinator = PersistentStoreCoordinator(managedObjectModel: store.model)
        coordinator.add(store)
        let child = ManagedObjectContext(parent: ManagedObjectContext(coordinator))
        Artist(context: child).name = "Ada"

        guard case .readOnlyStore? = contextError({ try child.save() }) else {
            Issue.record("the store is read-only")
            return
        }
        #expect(child.insertedObjects.count == 1 && child.parent?.hasChanges == false)
        coordinator.add(InMemoryStore(model: store.model))
        try child.save()
        try child.parent?.save()
        #expect(try ManagedObjectContext(coordinator).count(for: FetchRequest<Artist>()) == 1 && !child.hasChanges)
    }

    @Test(arguments: StoreKind.allCases)
    func `a child can be pinned to a moment of its parent, and to no other source's`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let (root, child) = (stack.context, ManagedObjectContext(parent: stack.context))
        let sibling = ManagedObjectContext(parent: root)
        try child.setQueryGeneration(from: .current)
        try artist("Artist 0", in: root).name = "Bea"
        try sibling.setQueryGeneration(from: child.queryGenerationToken)

        #expect(try child.fetch(FetchRequest<Artist>()).map(\.name) == ["Artist 0"])
        #expect(try sibling.fetch(FetchRequest<Artist>()).map(\.name) == ["Artist 0"])
        guard
            case .queryGenerationOfOtherStores? = contextError({
                try child.setQueryGeneration(from: root.queryGenerationToken)
            })
        else {
            Issue.record("the moment is not of the parent")
            return
        }
        try child.setQueryGeneration(from: nil)
        child.refreshAllObjects()
        #expect(try child.fetch(FetchRequest<Artist>()).map(\.name) == ["Bea"])
    }

    @Test func `a child whose parent has lost its generation goes on with the newest one`() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(try BTreeStore.inMemory(model: model, options: .small))
        let (root, other) = (ManagedObjectContext(coordinator), ManagedObjectContext(coordinator))
        let child = ManagedObjectContext(parent: root)
        let (artist, listener) = (Artist(context: other), Listener(context: other))
        (artist.name, listener.name) = ("Ada", "Lea")
        try other.save()
        let here = try #require(try child.fetch(FetchRequest<Artist>()).first)
        here.founded = 1
        for number in 0..<100 {
            listener.name = String(repeating: "\(number % 10)", count: 20_000)
            try other.save()
        }

        #expect(try child.fetch(FetchRequest<Listener>()).first?.name.first == "9")
        #expect(here.name == "Ada" && here.founded == 1)
        try child.save()
        try root.save()
        #expect(try ManagedObjectContext(coordinator).fetch(FetchRequest<Artist>()).first?.founded == 1)
    }
}

/// An object that notes the calls of its hooks.
private final class Diary: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription("Diary", properties: [EntityDescription._property("text", String.self)])
    }
    var calls: [String] = []
    var text: String {
        get { _get("text", at: 0) }
        set { _set("text", at: 0, newValue) }
    }

    override func awakeFromInsert() { calls.append("awakeFromInsert") }
    override func willSave() { calls.append("willSave") }
    override func didSave() { calls.append("didSave") }
    override func prepareForDeletion() { calls.append("prepareForDeletion") }
}

/// An empty store that refuses to save.
private final class ReadOnlyStore: PersistentStore {
    private let inner: InMemoryStore

    init(_ model: ManagedObjectModel) { inner = InMemoryStore(model: model) }

    var identifier: UUID { inner.identifier }
    var type: StoreType { .inMemory }
    var path: String? { nil }
    var isReadOnly: Bool { true }
    var model: ManagedObjectModel { inner.model }

    func snapshot() throws(StoreError) -> any StoreSnapshot { try inner.snapshot() }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] { throw .readOnly(path: nil) }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult { throw .readOnly(path: nil) }
    func metadata() throws(StoreError) -> [String: AttributeValue] { [:] }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) {}
    func close() throws(StoreError) { try inner.close() }
}
