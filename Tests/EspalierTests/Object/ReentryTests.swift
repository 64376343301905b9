// The application's code inside the library's: each hook, initializer, observer, merge policy, undo handler and
// transformer resets the context, releases it, or calls it again.
//
// Run it under the address sanitizer too (`Tests/README.md`): without it an access to a freed object may pass.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct ReentryTests {
    @Test(arguments: Hook.allCases, Action.allCases)
    func `whatever a hook does to its context, nothing freed is used and the store stays whole`(
        hook: Hook, action: Action
    ) throws {
        let stack = try Stack(.btree, classes: [Bird.self])
        try Scene.fill(stack.newContext())
        let scene = Scene(stack.newContext(), hook, action)

        try Scene.$present.withValue(scene) { try scene.run() }

        #expect(scene.actionCount > 0, "the hook was not called")
        if action == .drop { #expect(scene.dropped == nil && scene.context == nil) }
        let seen = try scene.context.map { try Scene.settled($0) }
        let stored = try Scene.settled(stack.newContext())
        if let seen { #expect(seen == stored) }
        for store in stack.coordinator.persistentStores {
            let report = try (store as? BTreeStore)?.check()
            #expect(report?.isOK == true, "\(report?.findings ?? [])")
        }
    }

    @Test func `every hook that a class can override acts in these tests`() throws {
        let source = Checkout.root.appending(path: "Sources/Espalier/Graph/ManagedObject.swift")
        let lines = try String(contentsOf: source, encoding: .utf8).split(separator: "\n")

        let declared = Set(lines.compactMap { Hook.name(declaredIn: $0) })

        #expect(declared.contains("awakeFromInsert") && declared.contains("validate(_:forKey:)"))
        #expect(declared == Set(Hook.allCases.filter(\.isMethod).map(\.rawValue)))
    }

    @Test func `an object whose initializer resets the context is inserted into that context`() throws {
        let stack = try Stack(.inMemory, classes: [Bird.self])
        let context = stack.newContext()
        let scene = Scene(context, .initializer, .reset)

        let bird = Scene.$present.withValue(scene) { Bird(context: context) }

        #expect(scene.actionCount == 1)
        #expect(bird.managedObjectContext === context && context.insertedObjects == [bird])
        #expect(context.registeredObject(for: bird.objectID) === bird)
    }

    @Test func `a deletion whose hook resets the context is forgotten with the object`() throws {
        let stack = try Stack(.btree, classes: [Bird.self])
        try Scene.fill(stack.newContext())
        let context = stack.newContext()
        let bird = try #require(try context.fetch(FetchRequest<Bird>()).first)

        try Scene.$present.withValue(Scene(context, .prepareForDeletion, .reset)) { try context.delete(bird) }

        #expect(!context.hasChanges && context.deletedObjects.isEmpty && !bird.isDeleted)
        try context.save()
        #expect(try Scene.settled(stack.newContext()).count == Scene.birdCount)
    }

    @Test func `a save whose hooks refresh a deleted object leaves nothing to be saved`() throws {
        let stack = try Stack(.btree, classes: [Bird.self])
        try Scene.fill(stack.newContext())
        let context = stack.newContext()
        let birds = try context.fetch(FetchRequest<Bird>())
        let young = try #require(birds.first { $0.parent != nil })

        try Scene.$present.withValue(Scene(context, .willSave, .refreshAll)) {
            try context.delete(young)
            try context.save()
        }
        context.processPendingChanges()

        #expect(!context.hasChanges)
        #expect(birds.count { !$0.isDeleted && $0.managedObjectContext != nil } == Scene.birdCount - 1)
    }

    @Test(arguments: [Action.reset, .drop])
    func `the end of an object may end its context's hold on all others`(action: Action) throws {
        let stack = try Stack(.btree, classes: [Bird.self])
        try Scene.fill(stack.newContext())
        let scene = Scene(stack.newContext(), nil, action)

        try Scene.$present.withValue(scene) {
            var birds = try scene.context?.fetch(FetchRequest<Bird>()) ?? []
            #expect(birds.count == Scene.birdCount)
            birds.removeLast()
            for bird in birds { #expect(bird.managedObjectContext == nil) }
        }

        #expect(scene.actionCount > 0)
        #expect(try Scene.settled(stack.newContext()).count == Scene.birdCount)
    }
}

/// The application's code that the library calls: the methods that a class can override, by their names, and others.
enum Hook: String, CaseIterable {
    case awakeFromInsert, awakeFromFetch, prepareForDeletion, willSave, didSave
    case willTurnIntoFault, didTurnIntoFault, validateForInsert, validateForUpdate, validateForDelete
    case awakeFromSnapshotEvents = "awake(fromSnapshotEvents:)"
    case validateForKey = "validate(_:forKey:)"
    case initializer, observer, mergePolicy, undoHandler, transformer

    /// Whether it is an open method of `ManagedObject`.
    var isMethod: Bool {
        switch self {
        case .initializer, .observer, .mergePolicy, .undoHandler, .transformer: false
        default: true
        }
    }

    /// The name of the open method that a line of Swift declares, with labels if it takes arguments; `nil` if none.
    static func name(declaredIn line: Substring) -> String? {
        guard let start = line.firstRange(of: "open func ")?.upperBound else { return nil }
        let parts = line[start...].split(separator: "(", maxSplits: 1)
        guard parts.count == 2, let end = parts[1].firstIndex(of: ")") else { return nil }
        let labels = parts[1][..<end].split(separator: ",").compactMap { parameter in
            parameter.split(whereSeparator: { $0 == " " || $0 == ":" }).first.map { "\($0):" }
        }
        return labels.isEmpty ? String(parts[0]) : "\(parts[0])(\(labels.joined()))"
    }
}

/// The action inside such a method.
enum Action: String, CaseIterable {
    case reset, drop, rollback, fetch, save, delete, insert, refreshAll, processChanges
    case merge, refreshOne, setGeneration, obtainIDs, assign, setUndoManager, setObservable, undo, undoNested
    case transact, failTransaction, saveChild, dropChild

    /// Whether the context has an undo manager for it from the beginning.
    var needsUndoManager: Bool { self == .undo || self == .undoNested }
}

/// A context, the application's calls on it, and the action of a hook during them.
// SAFETY: @unchecked Sendable, because a test uses it on its own thread only.
private final class Scene: @unchecked Sendable {
    @TaskLocal static var present: Scene?
    static let birdCount = 5

    private(set) var context: ManagedObjectContext?
    private(set) weak var dropped: ManagedObjectContext?
    private(set) var actionCount = 0
    /// The objects of the last fetch, which the context does not hold by itself.
    private var kept: [Bird] = []
    /// A child with changes, for the action that releases it.
    private var child: ManagedObjectContext?
    /// The hook that acts; `nil` for the `deinit` of an object.
    private let hook: Hook?
    private let action: Action
    private var isActing = false
    private var isArmed = true
    private var tokens: [ObservationToken] = []
    private let undoStack = UndoStack()

    init(_ context: ManagedObjectContext, _ hook: Hook?, _ action: Action) {
        (self.context, self.hook, self.action) = (context, hook, action)
        switch hook {
        case .observer:
            // Only such a context merges saves of others by itself, which one of the messages is about.
            context.automaticallyMergesChangesFromParent = true
            tokens = Self.observers(of: context)
        case .mergePolicy: context.mergePolicy = Self.policy
        case .undoHandler, .awakeFromSnapshotEvents: context.undoManager = undoStack
        default: break
        }
        if action.needsUndoManager { context.undoManager = undoStack }
    }

    /// An observer for each message of a context.
    private static func observers(of context: ManagedObjectContext) -> [ObservationToken] {
        typealias Context = ManagedObjectContext
        return [
            context.addObserver(for: Context.WillSaveMessage.self) { _ in Scene.present?.called(.observer) },
            context.addObserver(for: Context.DidSaveMessage.self) { _ in Scene.present?.called(.observer) },
            context.addObserver(for: Context.ObjectsDidChangeMessage.self) { _ in Scene.present?.called(.observer) },
            context.addObserver(for: Context.DidMergeChangesMessage.self) { _ in Scene.present?.called(.observer) },
            context.addObserver(for: Context.DidLoseGenerationMessage.self) { _ in Scene.present?.called(.observer) },
            context.addObserver(for: Context.DidFailToAutosaveMessage.self) { _ in Scene.present?.called(.observer) },
            context.addObserver(for: Context.DidBreakConstraintsMessage.self) { _ in Scene.present?.called(.observer) },
        ]
    }

    private static var policy: MergePolicy {
        MergePolicy { _, object in
            Scene.present?.called(.mergePolicy, object as? Bird)
            return MergeResolution(.objectTrump)
        } constraints: { _, object in
            Scene.present?.called(.mergePolicy, object as? Bird)
            return .refuse
        }
    }

    /// Saves a parent with four young, which stand in a queue and feed the parent.
    static func fill(_ context: ManagedObjectContext) throws {
        try AttributeTransformers.register(SongTransformer(), forName: Song.transformerName)
        let parent = Bird(context: context)
        (parent.name, parent.song) = ("parent", Song(text: "caw"))
        var queue: [Bird] = []
        for number in 1..<birdCount {
            let young = Bird(context: context)
            (young.name, young.parent, young.song) = ("young \(number)", parent, Song(text: "peep"))
            young.feeds = [parent]
            queue.append(young)
        }
        parent.queue = queue
        try context.save()
    }

    /// Saves or rolls back, refreshes, and returns the values and relationships of all birds; both sides must agree.
    static func settled(_ context: ManagedObjectContext) throws -> [String] {
        do { try context.save() } catch { context.rollback() }
        #expect(!context.hasChanges)
        context.refreshAllObjects()
        let birds = try context.fetch(FetchRequest<Bird>())
        for bird in birds {
            if let parent = bird.parent { #expect(parent.young.contains(bird)) }
            for young in bird.young { #expect(young.parent === bird) }
            if let head = bird.head { #expect(head.queue.contains(bird)) }
            for waiting in bird.queue { #expect(waiting.head === bird) }
            for fed in bird.feeds { #expect(fed.fedBy.contains(bird)) }
            for feeder in bird.fedBy { #expect(feeder.feeds.contains(bird)) }
        }
        return birds.map { bird in
            let names = [
                bird.name, bird.song?.text ?? "", bird.parent?.name ?? "", bird.head?.name ?? "",
                bird.queue.map(\.name).joined(separator: "+"), bird.feeds.map(\.name).sorted().joined(separator: "+"),
            ]
            return "\(bird.objectID) \(names.joined(separator: "|"))"
        }.sorted()
    }

    // MARK: The hook

    func called(_ called: Hook?, _ bird: Bird? = nil) {
        guard isArmed, called == hook, !isActing, actionCount < 20 else { return }
        (isActing, actionCount) = (true, actionCount + 1)
        defer { isActing = false }
        do { try act(on: bird) } catch { #expect(error is ContextError || error is UndoError, "\(error)") }
    }

    private func act(on bird: Bird?) throws {
        guard let context else { return }
        switch action {
        case .reset: context.reset()
        case .drop: (dropped, self.context) = (context, nil)
        case .rollback: context.rollback()
        case .fetch:
            kept = try context.fetch(FetchRequest<Bird>())
            for found in kept { _ = (found.name, found.parent) }
        case .save: try context.save()
        case .delete: if let other = bird ?? context.registeredObjects.first { try context.delete(other) }
        case .insert: Bird(context: context).name = "inserted by a hook"
        case .refreshAll: context.refreshAllObjects()
        case .processChanges: context.processPendingChanges()
        case .merge: try merge(into: context)
        case .refreshOne:
            let other = context.registeredObjects.min { "\($0.objectID)" < "\($1.objectID)" }
            if let other = bird ?? other { context.refresh(other, mergesChanges: false) }
        case .setGeneration:
            try context.setQueryGeneration(from: .current)
            try context.setQueryGeneration(from: nil)
        case .obtainIDs: try context.obtainPermanentIDs(for: Array(context.insertedObjects))
        case .assign:
            let stores = context.persistentStoreCoordinator.persistentStores
            if let store = stores.first { try context.assign(Array(context.insertedObjects), to: store) }
        case .setUndoManager: context.undoManager = context.undoManager == nil ? undoStack : nil
        case .setObservable: context.isObservable.toggle()
        case .undo: try context.undo()
        case .undoNested:
            undoStack.beginUndoGrouping()
            undoStack.registerUndo(withTarget: self) { _ in }
            try undoStack.endUndoGrouping()
            try undoStack.undoNestedGroup()
        case .transact: try context.transaction { Bird(context: context).name = "of a transaction" }
        case .failTransaction:
            try context.transaction {
                Bird(context: context).name = "of a transaction that fails"
                throw ContextError.noStore(entity: "of no store")
            }
        case .saveChild:
            let child = ManagedObjectContext(parent: context)
            if let found = try child.fetch(FetchRequest<Bird>()).first, found.isRead { found.name += "c" }
            try child.save()
        case .dropChild:
            guard child == nil else { return child = nil }
            let made = ManagedObjectContext(parent: context)
            for found in try made.fetch(FetchRequest<Bird>()) where found.isRead { found.name += "d" }
            child = made
        }
    }

    /// Changes all birds in another context, which saves, and merges that.
    private func merge(into context: ManagedObjectContext) throws {
        let rival = ManagedObjectContext(context.persistentStoreCoordinator)
        let birds = try rival.fetch(FetchRequest<Bird>())
        for bird in birds where bird.isRead { bird.name += "~" }
        try rival.save()
        context.mergeChanges(from: SavedChanges(updated: birds.map(\.objectID)))
    }

    // MARK: The application

    /// Runs the steps that call every hook; each step uses the state that the steps before it have left.
    func run() throws {
        let steps: [(Scene) throws -> Void] = [
            { scene in for bird in try scene.birds() where bird.isHeld { _ = bird.name } },
            { scene in for bird in try scene.birds() where bird.isRead { _ = bird.parent } },
            { scene in for bird in try scene.birds() where bird.isRead { _ = bird.young } },
            { scene in if let context = scene.context { Bird(context: context).name = "new" } },
            { scene in for bird in try scene.birds() where bird.isRead { bird.name += "!" } },
            { scene in try scene.context?.save() },
            { scene in for bird in try scene.birds() where bird.isRead { bird.name += "?" } },
            { scene in for bird in try scene.birds() { scene.context?.refresh(bird, mergesChanges: false) } },
            { scene in if let bird = try scene.birds().first { try scene.context?.delete(bird) } },
            { scene in try scene.context?.save() },
            { scene in if let bird = try scene.birds().last { try scene.context?.delete(bird) } },
            { scene in scene.context?.rollback() },
            { scene in scene.context?.refreshAllObjects() },
            { scene in for bird in try scene.birds() where bird.isRead { _ = bird.queue } },
            { scene in for bird in try scene.birds() where bird.isRead { _ = bird.feeds } },
            { scene in for bird in try scene.birds() where bird.isRead { _ = bird.song } },
            { scene in if let bird = try scene.birds().first, bird.isRead { bird.song = Song(text: "tweet") } },
            { scene in try scene.relate { bird, others in bird.feeds = Set(others) } },
            { scene in try scene.relate { bird, others in bird.queue = others.reversed() } },
            { scene in try scene.context?.save() },
            { scene in try scene.compete() },
            { scene in try scene.context?.save() },
            { scene in scene.context?.processPendingChanges() },
            { scene in scene.context?.refreshAllObjects() },
            { scene in scene.context?.rollback() },
            { scene in try scene.undo() },
            { scene in scene.breakConstraint() },
            { scene in scene.context?.rollback() },
        ]
        for step in steps {
            do { try step(self) } catch { #expect(error is ContextError || error is UndoError, "\(error)") }
        }
        isArmed = false
    }

    /// Relates the first bird to all others.
    private func relate(_ relate: (Bird, [Bird]) -> Void) throws {
        let birds = try birds()
        if let bird = birds.first, bird.isRead { relate(bird, Array(birds.dropFirst())) }
    }

    /// Changes the names of all birds here, and then in another context, which saves first and calls no hook of the
    /// scene.
    private func compete() throws {
        for bird in try birds() where bird.isRead { bird.name += "." }
        guard let context else { return }
        isArmed = false
        defer { isArmed = true }
        let rival = ManagedObjectContext(context.persistentStoreCoordinator)
        for bird in try rival.fetch(FetchRequest<Bird>()) { bird.name += " of a rival" }
        try rival.save()
    }

    /// Undoes and redoes an event with an action of the application's own, if the scene has an undo manager.
    private func undo() throws {
        guard let context, context.undoManager != nil else { return }
        context.processPendingChanges()
        for bird in try birds() where bird.isRead { bird.name += "," }
        // After the fetch, which ends an event: the action and the changes are of one group.
        undoStack.registerUndo(withTarget: self) { $0.called(.undoHandler) }
        context.processPendingChanges()
        try context.undo()
        try context.redo()
    }

    /// Gives two new birds the same ring, in a context that saves by itself at the end of the event and fails.
    private func breakConstraint() {
        guard let context else { return }
        context.autosaveEnabled = true
        for _ in 0..<2 { Bird(context: context).ring = 7 }
        context.processPendingChanges()
        context.autosaveEnabled = false
    }

    private func birds() throws -> [Bird] { try context?.fetch(FetchRequest<Bird>()) ?? [] }
}

/// A value that a transformer of the application's makes.
private struct Song {
    static let transformerName = "Song of a bird"
    let text: String
}

private struct SongTransformer: AttributeTransformer {
    func data(from song: Song) throws -> Data {
        Scene.present?.called(.transformer)
        return Data(song.text.utf8)
    }

    func value(from data: Data) throws -> Song {
        Scene.present?.called(.transformer)
        return Song(text: String(decoding: data, as: UTF8.self))
    }
}

private final class Bird: ManagedObject {
    required init(_ seed: consuming ObjectSeed) {
        Scene.present?.called(.initializer)
        super.init(seed)
    }
    deinit { Scene.present?.called(nil) }

    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Bird",
            properties: [
                EntityDescription._property("name", String.self, defaultValue: ""),
                EntityDescription._property("parent", Bird?.self, options: .init(inverse: "young")),
                EntityDescription._property("young", Set<Bird>.self, options: .init(inverse: "parent")),
                EntityDescription._property("head", Bird?.self, options: .init(inverse: "queue")),
                EntityDescription._property("queue", [Bird].self, options: .init(inverse: "head")),
                EntityDescription._property("feeds", Set<Bird>.self, options: .init(inverse: "fedBy")),
                EntityDescription._property("fedBy", Set<Bird>.self, options: .init(inverse: "feeds")),
                EntityDescription._property("ring", Int?.self, options: .init(isUnique: true)),
                EntityDescription._transformable("song", Song?.self, by: Song.transformerName),
            ])
    }
    override class var validatedKeys: [String] { ["name", "queue"] }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var parent: Bird? {
        get { _get("parent", at: 1) }
        set { _set("parent", at: 1, newValue) }
    }
    var young: Set<Bird> {
        get { _get("young", at: 2) }
        set { _set("young", at: 2, newValue) }
    }
    var head: Bird? {
        get { _get("head", at: 3) }
        set { _set("head", at: 3, newValue) }
    }
    var queue: [Bird] {
        get { _get("queue", at: 4) }
        set { _set("queue", at: 4, newValue) }
    }
    var feeds: Set<Bird> {
        get { _get("feeds", at: 5) }
        set { _set("feeds", at: 5, newValue) }
    }
    var fedBy: Set<Bird> {
        get { _get("fedBy", at: 6) }
        set { _set("fedBy", at: 6, newValue) }
    }
    var ring: Int? {
        get { _get("ring", at: 7) }
        set { _set("ring", at: 7, newValue) }
    }
    var song: Song? {
        get { _getTransformed("song", at: 8, by: Song.transformerName) }
        set { _setTransformed("song", at: 8, by: Song.transformerName, newValue) }
    }
    /// Whether a context holds the object; only such an object can be read whole.
    var isHeld: Bool { managedObjectContext != nil }
    /// Whether a context still holds the object after its values were loaded and its hook was called.
    var isRead: Bool { isHeld && !name.isEmpty && isHeld }

    override func awakeFromInsert() { Scene.present?.called(.awakeFromInsert, self) }
    override func awakeFromFetch() { Scene.present?.called(.awakeFromFetch, self) }
    override func awake(fromSnapshotEvents events: SnapshotEvents) {
        Scene.present?.called(.awakeFromSnapshotEvents, self)
    }
    override func prepareForDeletion() { Scene.present?.called(.prepareForDeletion, self) }
    override func willSave() { Scene.present?.called(.willSave, self) }
    override func didSave() { Scene.present?.called(.didSave, self) }
    override func willTurnIntoFault() { Scene.present?.called(.willTurnIntoFault, self) }
    override func didTurnIntoFault() { Scene.present?.called(.didTurnIntoFault, self) }
    override func validate(_ value: inout PropertyValue, forKey key: String) throws {
        Scene.present?.called(.validateForKey, self)
    }
    override func validateForInsert() throws { Scene.present?.called(.validateForInsert, self) }
    override func validateForUpdate() throws { Scene.present?.called(.validateForUpdate, self) }
    override func validateForDelete() throws { Scene.present?.called(.validateForDelete, self) }
}
