// Undoing the changes that observers of merges, refreshes and events make, and setting an undo manager there (MC-53,
// MC-54, NT-04, NT-05, MO-41).

import Espalier
import EspalierModel
import Observation
import Testing

@Suite struct UndoObserverTests {
    /// A way in which a context learns what another one has saved.
    enum Way: CaseIterable {
        case automatically, whenAsked, byRefresh, byRefreshOfAll
    }

    /// A kind of observers.
    enum Kind: CaseIterable {
        case merge, event, property
    }

    struct Case: CustomTestStringConvertible {
        let way: Way
        let kind: Kind
        var testDescription: String { "\(kind), \(way)" }

        /// A refresh is no merge.
        static let all: [Case] = Way.allCases.flatMap { way in
            Kind.allCases.filter { $0 != .merge || way == .automatically || way == .whenAsked }
                .map { Case(way: way, kind: $0) }
        }
    }

    /// Two artists, one of which another context changes, and one that an observer changes then.
    private final class Scene {
        let stack: Stack
        var context: ManagedObjectContext { stack.context }
        let watched: Artist
        let changed: Artist
        private let way: Way
        private let kind: Kind
        private var token: ObservationToken?
        private var hasActed = false

        init(_ way: Way, _ kind: Kind) throws {
            (self.way, self.kind) = (way, kind)
            stack = try Stack(.btree)
            try stack.makeMusic(artists: 2, tracks: 0)
            let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
            (watched, changed) = (artists[0], artists[1])
            stack.context.isObservable = kind == .property
            stack.context.automaticallyMergesChangesFromParent = way == .automatically
        }

        /// Objects for a closure that runs where they are.
        // SAFETY: `onChange` runs within the call by which the context learns of a save, on the same thread.
        private struct Here: @unchecked Sendable {
            let act: () -> Void
        }

        /// Makes an observer that acts once.
        func observe(_ act: @escaping () -> Void) {
            #expect(watched.name == "Artist 0")
            let once: () -> Void = { [unowned self] in
                if hasActed { return }
                hasActed = true
                act()
            }
            switch kind {
            case .merge:
                token = context.addObserver(for: ManagedObjectContext.DidMergeChangesMessage.self) { _ in once() }
            case .event:
                token = context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { _ in once() }
            case .property:
                let here = Here(act: once)
                withObservationTracking {
                    _ = watched.name
                } onChange: {
                    here.act()
                }
            }
        }

        /// Renames the watched artist elsewhere, and lets the context learn of it.
        func learn() throws {
            let other = stack.newContext()
            var saved: [SavedChanges] = []
            let token = other.addObserver(for: ManagedObjectContext.DidSaveMessage.self) { saved.append($0.changes) }
            let theirs = try #require(try other.existingObject(with: watched.objectID) as? Artist)
            theirs.name = "theirs"
            try other.save()
            withExtendedLifetime(token) {}
            switch way {
            case .automatically: context.processPendingChanges()
            case .whenAsked: for changes in saved { context.mergeChanges(from: changes) }
            case .byRefresh: context.refresh(watched, mergesChanges: true)
            case .byRefreshOfAll: context.refreshAllObjects()
            }
            #expect(hasActed)
        }
    }

    @Test(arguments: Case.all)
    func `what an observer of a merge or refresh changes is undone, and the merged values stay (MC-54)`(
        _ observer: Case
    ) throws {
        let scene = try Scene(observer.way, observer.kind)
        let undoManager = UndoStack()
        scene.context.undoManager = undoManager
        scene.observe { [unowned scene] in scene.changed.founded = 7 }

        try scene.learn()

        #expect(scene.changed.founded == 7 && scene.watched.name == "theirs")
        try scene.context.undo()
        #expect(scene.changed.founded == 1951 && scene.watched.name == "theirs" && !undoManager.canUndo)
        try scene.context.redo()
        #expect(scene.changed.founded == 7)
        try scene.context.saveAndCompare()
    }

    @Test(arguments: Case.all, [false, true])
    func `an undo manager that an observer of a merge or refresh sets records from then on (MC-53)`(
        _ observer: Case, _ hasFormer: Bool
    ) throws {
        let scene = try Scene(observer.way, observer.kind)
        let (former, undoManager) = (UndoStack(), UndoStack())
        if hasFormer { scene.context.undoManager = former }
        scene.observe { [unowned scene] in scene.context.undoManager = undoManager }

        try scene.learn()
        #expect(!undoManager.canUndo)
        scene.changed.founded = 7
        scene.context.processPendingChanges()

        #expect(undoManager.undoCount == 1 && !former.canUndo)
        try scene.context.undo()
        #expect(scene.changed.founded == 1951 && scene.watched.name == "theirs")
        try scene.context.saveAndCompare()
    }

    @Test func `what an observer changes at the end of an event that an undo ends is undone with it (MC-54, MC-57)`()
        throws
    {
        let scene = try Scene(.automatically, .event)
        let undoManager = UndoStack()
        scene.context.undoManager = undoManager
        scene.observe { [unowned scene] in scene.changed.founded = 7 }
        scene.watched.name = "mine"

        try scene.context.undo()

        #expect(scene.watched.name == "Artist 0" && scene.changed.founded == 1951)
        #expect(!undoManager.canUndo && undoManager.redoCount == 1)
        try scene.context.redo()
        #expect(scene.watched.name == "mine" && scene.changed.founded == 7 && undoManager.undoCount == 1)
    }

    @Test func `an undo manager that a hook sets while a merge runs records no merged values (MC-53, MC-56)`() throws {
        let stack = try Stack(.inMemory, classes: [Bell.self])
        let context = stack.context
        context.automaticallyMergesChangesFromParent = true
        let bells = (0..<2).map { _ in Bell(context: context) }
        try context.save()
        for bell in bells { bell.pitch = 1 }
        let (former, undoManager) = (UndoStack(), UndoStack())
        context.undoManager = former
        bells[0].onMerge = { [unowned context] in context.undoManager = undoManager }
        let other = stack.newContext()
        for bell in bells { (try other.existingObject(with: bell.objectID) as? Bell)?.weight = 5 }
        try other.save()

        context.processPendingChanges()

        #expect(bells.allSatisfy { $0.weight == 5 && $0.pitch == 1 } && !undoManager.canUndo)
        bells[1].pitch = 2
        try context.undo()
        #expect(bells[1].pitch == 1 && bells[1].weight == 5 && undoManager.redoCount == 1)
        try context.saveAndCompare()
    }
}

/// An object with a hook that runs once, after a merge below its changes.
private final class Bell: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Bell",
            properties: [
                EntityDescription._property("pitch", Int.self, defaultValue: 0),
                EntityDescription._property("weight", Int.self, defaultValue: 0),
            ])
    }
    override class var entityName: String { "Bell" }
    var pitch: Int {
        get { _get("pitch", at: 0) }
        set { _set("pitch", at: 0, newValue) }
    }
    var weight: Int {
        get { _get("weight", at: 1) }
        set { _set("weight", at: 1, newValue) }
    }
    var onMerge: (() -> Void)?

    override func awake(fromSnapshotEvents events: SnapshotEvents) {
        let act = onMerge
        onMerge = nil
        act?()
    }
}
