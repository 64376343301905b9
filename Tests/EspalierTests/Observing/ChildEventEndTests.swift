// Events of children, which end with those of the context at the root: when the main actor is free, and after blocks
// and jobs of actors (MC-36, MC-54, SD-16).

import EspalierModel
import TestSupport
import Testing

@testable import Espalier

@Suite @MainActor struct ChildEventEndTests {
    private let container: PersistentContainer
    private var root: ManagedObjectContext { container.viewContext }

    init() throws { container = try PersistentContainer(inMemoryFor: musicClasses) }

    /// Lets the main actor run other work until `isDone`, or for many turns.
    private func wait(until isDone: () -> Bool) async {
        for _ in 0..<1000 where !isDone() { await Task.yield() }
    }

    /// A context as many levels below the view context.
    private func descendant(_ depth: Int) -> ManagedObjectContext {
        var context = root
        for _ in 0..<depth { context = ManagedObjectContext(parent: context) }
        return context
    }

    @Test(arguments: 1...3)
    func `each turn of the main actor is an undo group in a child at any depth (MC-36, MC-54)`(
        depth: Int
    ) async throws {
        let (child, undoManager) = (descendant(depth), UndoStack())
        child.undoManager = undoManager
        let artist = Artist(context: child)
        artist.name = "Miles"
        await wait { undoManager.undoCount == 1 && undoManager.groupingLevel == 0 }
        #expect(undoManager.undoCount == 1 && undoManager.groupingLevel == 0, "the first turn ended no event")
        artist.name = "Nina"
        await wait { undoManager.undoCount == 2 && undoManager.groupingLevel == 0 }

        #expect(undoManager.undoCount == 2 && undoManager.groupingLevel == 0, "the second turn ended no event")
        try child.undo()
        #expect(artist.name == "Miles")
        #expect(!root.hasChanges)
    }

    @Test func `delete rules of a child run at the end of a turn (MC-36)`() async throws {
        let (artist, album) = (Artist(context: root), Album(context: root))
        (artist.name, album.title, album.artist) = ("Miles", "Kind of Blue", artist)
        try root.save()
        let child = descendant(1)
        let mine = try #require(try child.existingObject(with: artist.objectID) as? Artist)
        let own = try #require(try child.existingObject(with: album.objectID) as? Album)
        try child.delete(mine)
        #expect(!own.isDeleted)
        await wait { own.isDeleted }

        #expect(own.isDeleted && child.deletedObjects == [mine, own] && !root.hasChanges)
    }

    @Test func `the record of an event of a child ends with a turn (MC-36)`() async throws {
        let child = descendant(2)
        child.recordsChangesOfEvent = true
        let artist = Artist(context: child)
        artist.name = "Miles"
        #expect(try artist.changedValuesForCurrentEvent().keys.sorted() == ["name"])
        await wait { (try? artist.changedValuesForCurrentEvent().isEmpty) == true }

        #expect(try artist.changedValuesForCurrentEvent().isEmpty, "the turn ended no event")
    }

    @Test func `a turn is one group of an undo manager that a context and its child share (MC-54)`() async throws {
        let (child, undoManager) = (descendant(1), UndoStack())
        for context in [root, child] { context.undoManager = undoManager }
        let (above, below) = (Artist(context: root), Artist(context: child))
        (above.name, below.name) = ("Miles", "Nina")
        await wait { undoManager.undoCount == 1 && undoManager.groupingLevel == 0 }

        #expect(undoManager.undoCount == 1 && undoManager.groupingLevel == 0)
        try child.undo()
        #expect(root.insertedObjects.isEmpty && child.insertedObjects.isEmpty)
    }

    @Test func `children with autosave save before their parents, and the store is written once (SD-16)`()
        async throws
    {
        let grandchild = descendant(2)
        let child = try #require(grandchild.parent)
        let contexts = [root, child, grandchild]
        var saveCount = 0
        let token = root.addObserver(for: ManagedObjectContext.DidSaveMessage.self) { _ in saveCount += 1 }
        for (number, context) in contexts.enumerated() {
            context.autosaveEnabled = true
            Artist(context: context).name = "\(number)"
        }
        await wait { contexts.allSatisfy { !$0.hasChanges } }

        #expect(contexts.allSatisfy { !$0.hasChanges })
        #expect(saveCount == 1, "\(saveCount) saves")
        let names = try await container.performBackgroundTask { try $0.fetch(FetchRequest<Artist>()).map(\.name) }
        #expect(names.sorted() == ["0", "1", "2"])
        token.cancel()
    }

    @Test func `a child's save and an undo are changes that a context with autosave saves (SD-16)`() async throws {
        root.autosaveEnabled = true
        let child = descendant(1)
        Artist(context: child).name = "Miles"
        try child.save()
        #expect(root.hasChanges)
        await wait { !root.hasChanges }
        #expect(!root.hasChanges, "the changes of the child wait for another event")

        root.undoManager = UndoStack()
        let artist = try #require(try root.fetch(FetchRequest<Artist>()).first)
        artist.name = "Davis"
        await wait { !root.hasChanges }
        #expect(!root.hasChanges)
        // No notice of an earlier change is left.
        for _ in 0..<20 { await Task.yield() }
        try root.undo()
        #expect(artist.name == "Miles" && root.hasChanges)
        await wait { !root.hasChanges }
        #expect(!root.hasChanges, "the undo waits for another event")
    }

    @Test func `a child merges at the end of a turn what its siblings and other contexts have saved (MC-36, MC-47)`()
        async throws
    {
        let artist = Artist(context: root)
        artist.name = "Miles"
        try root.save()
        let (child, sibling) = (descendant(1), descendant(1))
        let shown = try #require(try child.existingObject(with: artist.objectID) as? Artist)
        let theirs = try #require(try sibling.existingObject(with: artist.objectID) as? Artist)
        #expect(shown.name == "Miles")
        theirs.name = "Davis"
        try sibling.save()
        await wait { shown.name == "Davis" }
        #expect(shown.name == "Davis", "the child does not follow its sibling")

        try root.save()
        let id = artist.objectID
        try await container.performBackgroundTask { context in
            let artist = try context.existingObject(with: id) as? Artist
            artist?.name = "Nina"
            try context.save()
        }
        await wait { shown.name == "Nina" }
        #expect(shown.name == "Nina", "the child does not follow another context")
    }

    @Test func `an event of a child gives its root one notice, whatever follows in it (MC-36)`() throws {
        var noticeCount = 0
        root.eventNotice = { noticeCount += 1 }
        let (grandchild, undoManager) = (descendant(2), UndoStack())
        grandchild.undoManager = undoManager
        let artist = Artist(context: grandchild)
        for number in 1...20 {
            artist.name = "\(number)"
            grandchild.processPendingChanges()
        }
        #expect(noticeCount == 1 && undoManager.undoCount == 20, "\(noticeCount) notices")
        root.endEvents()
        artist.name = "Nina"
        #expect(noticeCount == 2, "\(noticeCount) notices of two events")
        root.endEvents()
        #expect(undoManager.undoCount == 21 && undoManager.groupingLevel == 0)
    }

    @Test func `changes of a parent that a child reads one by one ask for one turn (MC-36)`() async throws {
        // Each turn tries to save an artist without a name.
        root.autosaveEnabled = true
        var turnCount = 0
        let token = root.addObserver(for: ManagedObjectContext.DidFailToAutosaveMessage.self) { _ in turnCount += 1 }
        let (artist, child) = (Artist(context: root), descendant(1))
        for year in 1950..<1980 {
            artist.founded = Int32(year)
            #expect(try child.fetch(FetchRequest<Artist>()).map(\.founded) == [Int32(year)])
        }
        await wait { turnCount > 0 }
        for _ in 0..<100 { await Task.yield() }

        #expect((1...2).contains(turnCount), "\(turnCount) turns")
        token.cancel()
    }

    // MARK: Events that begin while others end

    @Test func `changes that an observer makes in a child while a block or job ends are saved at once (MC-36, SD-16)`()
        async throws
    {
        let background = container.newBackgroundContext()
        await background.perform { context in context.userInfo["follower"] = DraftFollower(of: context) }
        await background.perform { context in Artist(context: context).name = "Miles" }
        let (waits, count) = await background.perform { context in
            let follower = context.userInfo.removeValue(forKey: "follower") as? DraftFollower
            return (follower?.hasChanges, context.insertedObjects.count)
        }
        #expect(waits == false && count == 2, "\(count) objects have reached the parent")

        let leader = Leader(container)
        await leader.begin()
        // A task of its own: two calls of one task can be one job.
        await Task { await leader.add("Miles") }.value
        #expect(await leader.followerWaits == false)
    }

    @Test func `a pinned child, which merges nothing, does not make its root end events again (MC-36)`() throws {
        let root = ManagedObjectContext(container.persistentStoreCoordinator)
        // Each round tries to save an artist without a name.
        root.autosaveEnabled = true
        var roundCount = 0
        let token = root.addObserver(for: ManagedObjectContext.DidFailToAutosaveMessage.self) { _ in
            roundCount += 1
        }
        let (pinned, sibling) = (ManagedObjectContext(parent: root), ManagedObjectContext(parent: root))
        try pinned.setQueryGeneration(from: .current)
        Artist(context: root).founded = 1959
        // It merges the change, of which all children are told.
        sibling.processPendingChanges()
        try #require(pinned.mailbox?.isEmpty == false)

        root.endEvents()
        #expect((1...2).contains(roundCount), "\(roundCount) rounds")
        token.cancel()
    }

    // MARK: Released children

    @Test func `a child that was released before the turn ends does no harm (MC-36)`() async throws {
        var draft: ManagedObjectContext? = descendant(2)
        weak let freed = draft
        draft?.autosaveEnabled = true
        draft?.undoManager = UndoStack()
        if let draft { Artist(context: draft).name = "draft" }
        draft = nil
        #expect(freed == nil)
        let (other, undoManager) = (descendant(1), UndoStack())
        other.undoManager = undoManager
        Artist(context: other).name = "kept"
        await wait { undoManager.undoCount == 1 && undoManager.groupingLevel == 0 }

        #expect(undoManager.undoCount == 1 && undoManager.groupingLevel == 0)
        #expect(!root.hasChanges && root.childSource?.children.count == 1)
    }

    @Test func `a child that an observer releases while a turn ends saves nothing (MC-36, SD-16)`() async throws {
        let holder = DraftHolder()
        holder.draft = descendant(1)
        if let draft = holder.draft {
            draft.autosaveEnabled = true
            Artist(context: draft).name = "draft"
        }
        let token = root.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { _ in holder.draft = nil }
        let kept = Artist(context: root)
        kept.name = "kept"
        await wait { holder.draft == nil }
        for _ in 0..<50 { await Task.yield() }

        #expect(holder.draft == nil && root.insertedObjects == [kept])
        token.cancel()
    }

    // MARK: Blocks and jobs of actors

    @Test func `the events of a child end with each block and each job of an actor (MC-36, MC-54)`() async throws {
        let background = container.newBackgroundContext()
        await background.perform { context in
            let child = ManagedObjectContext(parent: context)
            child.undoManager = UndoStack()
            context.userInfo["draft"] = child
            Artist(context: child).name = "Miles"
        }
        let count = await background.perform { context in
            let draft = context.userInfo.removeValue(forKey: "draft") as? ManagedObjectContext
            return draft?.undoManager?.undoCount
        }
        #expect(count == 1)

        let drafter = Drafter(container)
        await drafter.begin()
        // A task for each call: two calls of one task can be one job.
        for name in ["Miles", "Nina"] { await Task { await drafter.add(name) }.value }
        #expect(await drafter.undoCount == 2)
    }

    // MARK: At random

    @Test func `a tree of contexts that changes at random ends each event once, and nothing waits (MC-36, MC-54)`()
        throws
    {
        let seed = testSeed(default: 44_000)
        for number in 0..<campaignCount("ESPALIER_TURN_WALKS", default: 4) {
            var walk = EventTreeWalk(container.persistentStoreCoordinator, seed: seed &+ UInt64(number))
            try walk.go(turns: 25)
            guard let failure = walk.failure else { continue }
            Issue.record("seed \(seed &+ UInt64(number)): \(failure)\n\(walk.log.suffix(30).joined(separator: "\n"))")
            return
        }
    }
}

/// The owner of a draft, which may release it at any time.
private final class DraftHolder {
    var draft: ManagedObjectContext?
}

/// A child with autosave that gets an object of its own at the end of the first event in which its parent changes.
private final class DraftFollower {
    private let child: ManagedObjectContext
    private var token: ObservationToken?

    init(of parent: ManagedObjectContext) {
        child = ManagedObjectContext(parent: parent)
        child.autosaveEnabled = true
        token = parent.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { [weak self] _ in
            self?.follow()
        }
    }

    private func follow() {
        guard token != nil else { return }
        token = nil
        Artist(context: child).name = "Nina"
    }

    var hasChanges: Bool { child.hasChanges }
}

/// An actor whose changes a child of its context follows.
private actor Leader: ContextActor {
    let isolatedContext: IsolatedContext
    private var follower: DraftFollower?

    init(_ container: PersistentContainer) { isolatedContext = container.newIsolatedContext() }

    func begin() { follower = DraftFollower(of: context) }

    func add(_ name: String) { Artist(context: context).name = name }

    var followerWaits: Bool? { follower?.hasChanges }
}

/// An actor whose methods change a draft.
private actor Drafter: ContextActor {
    let isolatedContext: IsolatedContext
    private var draft: ManagedObjectContext?

    init(_ container: PersistentContainer) { isolatedContext = container.newIsolatedContext() }

    func begin() {
        draft = ManagedObjectContext(parent: context)
        draft?.undoManager = UndoStack()
    }

    func add(_ name: String) { if let draft { Artist(context: draft).name = name } }

    var undoCount: Int { draft?.undoManager?.undoCount ?? 0 }
}

/// A tree of contexts, each with an undo manager, and the number of groups that each of them must have.
private struct EventTreeWalk {
    private struct Node {
        let name: Int
        let context: ManagedObjectContext
        let undoManager = UndoStack()
        var artists: [Artist] = []
        /// The events that have ended and had changes.
        var eventCount = 0
        /// Whether something has changed in the event that has not ended.
        var hasChanged = false
    }

    /// Whether the root was given notice in this turn.
    private final class Notice {
        var isGiven = false
    }

    private var nodes: [Node]
    private var nodeCount = 1
    private let notice = Notice()
    private var random: SeededGenerator
    private(set) var failure: String?
    private(set) var log: [String] = []

    init(_ coordinator: PersistentStoreCoordinator, seed: UInt64) {
        random = SeededGenerator(seed: seed)
        nodes = [Node(name: 0, context: ManagedObjectContext(coordinator))]
        let notice = notice
        nodes[0].context.eventNotice = { notice.isGiven = true }
        nodes[0].context.undoManager = nodes[0].undoManager
    }

    mutating func go(turns: Int) throws {
        for _ in 0..<turns where failure == nil {
            for _ in 0..<Int.random(in: 0..<8, using: &random) { try step() }
            endTurn()
        }
    }

    private mutating func step() throws {
        let index = Int.random(in: nodes.indices, using: &random)
        let (kind, context) = (Int.random(in: 0..<10, using: &random), nodes[index].context)
        switch kind {
        case 0 where nodes.count < 8:
            log.append("child \(nodeCount) of \(nodes[index].name)")
            let node = Node(name: nodeCount, context: ManagedObjectContext(parent: context))
            node.context.undoManager = node.undoManager
            nodes.append(node)
            nodeCount += 1
        case 1 where index > 0 && !nodes.contains(where: { $0.context.parent === context }):
            log.append("release \(nodes[index].name)")
            nodes.remove(at: index)
        case 2:
            log.append("end the event of \(nodes[index].name)")
            context.processPendingChanges()
            endEvent(index)
        case 3 where !nodes[index].artists.isEmpty:
            log.append("delete in \(nodes[index].name)")
            try context.delete(nodes[index].artists.removeLast())
            nodes[index].hasChanged = true
        case 4, 5:
            guard let artist = nodes[index].artists.first else { return }
            log.append("change in \(nodes[index].name)")
            artist.name += "+"
            nodes[index].hasChanged = true
        default:
            log.append("insert in \(nodes[index].name)")
            let artist = Artist(context: context)
            artist.name = "\(nodeCount)"
            nodes[index].artists.append(artist)
            nodes[index].hasChanged = true
        }
    }

    private mutating func endEvent(_ index: Int) {
        if nodes[index].hasChanged { nodes[index].eventCount += 1 }
        nodes[index].hasChanged = false
    }

    /// Ends the events as a turn of the main actor does, if the root was given notice.
    private mutating func endTurn() {
        log.append("turn")
        let hasChanged = nodes.contains(where: \.hasChanged)
        if hasChanged, !notice.isGiven { return failure = "changes gave no notice" }
        if notice.isGiven { nodes[0].context.endEvents() }
        notice.isGiven = false
        for index in nodes.indices {
            endEvent(index)
            let node = nodes[index]
            let (count, level) = (node.undoManager.undoCount, node.undoManager.groupingLevel)
            if count != node.eventCount || level != 0 || node.context.journal?.steps.isEmpty != true {
                failure = "\(node.name) has \(count) groups at level \(level), not \(node.eventCount)"
            }
            if node.context.awaitsEndOfEvent { failure = "\(node.name) waits" }
        }
    }
}
