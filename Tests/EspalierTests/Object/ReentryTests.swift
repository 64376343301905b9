// The application's code inside the library's: each hook and initializer resets the context, releases it, or calls it
// again.
//
// Run it under the address sanitizer too (`Tests/README.md`): without it an access to a freed object may pass.

import Espalier
import EspalierModel
import EspalierStore
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

/// The methods of a class that the library calls.
enum Hook: String, CaseIterable {
    case initializer, awakeFromInsert, awakeFromFetch, prepareForDeletion, willSave, didSave
    case willTurnIntoFault, didTurnIntoFault, validateForInsert, validateForUpdate, validateForDelete
}

/// The action inside such a method.
enum Action: String, CaseIterable {
    case reset, drop, rollback, fetch, save, delete, insert, refreshAll, processChanges
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
    /// The hook that acts; `nil` for the `deinit` of an object.
    private let hook: Hook?
    private let action: Action
    private var isActing = false
    private var isArmed = true

    init(_ context: ManagedObjectContext, _ hook: Hook?, _ action: Action) {
        (self.context, self.hook, self.action) = (context, hook, action)
    }

    /// Saves a parent with four young.
    static func fill(_ context: ManagedObjectContext) throws {
        let parent = Bird(context: context)
        parent.name = "parent"
        for number in 1..<birdCount {
            let young = Bird(context: context)
            (young.name, young.parent) = ("young \(number)", parent)
        }
        try context.save()
    }

    /// Saves or rolls back, refreshes, and returns the names of all birds and their parents; both sides must agree.
    static func settled(_ context: ManagedObjectContext) throws -> [String] {
        do { try context.save() } catch { context.rollback() }
        #expect(!context.hasChanges)
        context.refreshAllObjects()
        let birds = try context.fetch(FetchRequest<Bird>())
        for bird in birds {
            if let parent = bird.parent { #expect(parent.young.contains(bird)) }
            for young in bird.young { #expect(young.parent === bird) }
        }
        return birds.map { "\($0.objectID) \($0.name) \($0.parent?.name ?? "")" }.sorted()
    }

    // MARK: The hook

    func called(_ called: Hook?, _ bird: Bird? = nil) {
        guard isArmed, called == hook, !isActing, actionCount < 20 else { return }
        (isActing, actionCount) = (true, actionCount + 1)
        defer { isActing = false }
        do { try act(on: bird) } catch { #expect(error is ContextError, "\(error)") }
    }

    private func act(on bird: Bird?) throws {
        switch action {
        case .reset: context?.reset()
        case .drop:
            dropped = context ?? dropped
            context = nil
        case .rollback: context?.rollback()
        case .fetch:
            kept = try context?.fetch(FetchRequest<Bird>()) ?? []
            for found in kept { _ = (found.name, found.parent) }
        case .save: try context?.save()
        case .delete: if let other = bird ?? context?.registeredObjects.first { try context?.delete(other) }
        case .insert: if let context { Bird(context: context).name = "inserted by a hook" }
        case .refreshAll: context?.refreshAllObjects()
        case .processChanges: context?.processPendingChanges()
        }
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
        ]
        for step in steps {
            do { try step(self) } catch { #expect(error is ContextError, "\(error)") }
        }
        isArmed = false
    }

    private func birds() throws -> [Bird] { try context?.fetch(FetchRequest<Bird>()) ?? [] }
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
            ])
    }
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
    /// Whether a context holds the object; only such an object can be read whole.
    var isHeld: Bool { managedObjectContext != nil }
    /// Whether a context still holds the object after its values were loaded and its hook was called.
    var isRead: Bool { isHeld && !name.isEmpty && isHeld }

    override func awakeFromInsert() { Scene.present?.called(.awakeFromInsert, self) }
    override func awakeFromFetch() { Scene.present?.called(.awakeFromFetch, self) }
    override func prepareForDeletion() { Scene.present?.called(.prepareForDeletion, self) }
    override func willSave() { Scene.present?.called(.willSave, self) }
    override func didSave() { Scene.present?.called(.didSave, self) }
    override func willTurnIntoFault() { Scene.present?.called(.willTurnIntoFault, self) }
    override func didTurnIntoFault() { Scene.present?.called(.didTurnIntoFault, self) }
    override func validateForInsert() throws { Scene.present?.called(.validateForInsert, self) }
    override func validateForUpdate() throws { Scene.present?.called(.validateForUpdate, self) }
    override func validateForDelete() throws { Scene.present?.called(.validateForDelete, self) }
}
