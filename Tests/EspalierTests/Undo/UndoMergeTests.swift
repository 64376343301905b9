// Undoing beside the saves of other contexts, and the values and counts that a context reads afterwards (MC-56, MC-57).

import Espalier
import EspalierModel
import Testing

@Suite struct UndoMergeTests {
    private let board: BeadBoard
    private let context: ManagedObjectContext
    private let other: ManagedObjectContext
    private let undoManager = UndoStack()

    init() throws {
        board = try BeadBoard(.memory, count: 5)
        (context, other) = (ManagedObjectContext(board.coordinator), ManagedObjectContext(board.coordinator))
        context.automaticallyMergesChangesFromParent = true
        context.undoManager = undoManager
    }

    /// The beads of a context, by their numbers.
    private func beads(_ context: ManagedObjectContext) throws -> [Bead] {
        try (0..<5).map { try board.bead($0, in: context) }
    }

    @Test func `undoing after a merge sets what the event has changed, and leaves both ends equal`() throws {
        let (mine, theirs) = (try beads(context), try beads(other))
        try mine[0].setValue(.toMany([mine[2], mine[3], mine[4]]), forKey: "queue")
        try context.save()
        try mine[3].setValue(.toOne(nil), forKey: "head")
        try context.save()
        other.refreshAllObjects()
        try theirs[3].setValue(.toOne(theirs[1]), forKey: "head")
        try other.save()
        context.processPendingChanges()
        #expect(try board.shown(mine[0], .queue) == [2, 4] && board.shown(mine[1], .queue) == [3])

        try context.undo()

        #expect(try board.shown(mine[3], .head) == [0])
        #expect(try board.shown(mine[0], .queue) == [2, 3, 4] && board.shown(mine[1], .queue) == [])
        try context.saveAndCompare()
        try context.redo()
        #expect(try board.shown(mine[3], .head) == [1])
        #expect(try board.shown(mine[0], .queue) == [2, 4] && board.shown(mine[1], .queue) == [3])
        try context.saveAndCompare()
    }

    @Test func `an undo knows of a merge between the changes of its event and the end of that (MC-56)`() throws {
        let theirs = try beads(other)
        try theirs[3].setValue(.toOne(theirs[1]), forKey: "hint")
        try other.save()
        let mine = try board.bead(3, in: context)
        try mine.setValue(.toOne(nil), forKey: "hint")
        try other.delete(theirs[1])
        try other.save()

        // The event ends with the merge of a deletion: its only step leads to the deleted row.
        context.processPendingChanges()
        try context.undo()

        #expect(try board.shown(mine, .hint) == [], "an undo leads to a row that another context has deleted")
        try context.saveAndCompare()
    }

    @Test func `an undo leaves both ends equal where a merge has led to an object that nobody holds (MO-24, MC-56)`()
        throws
    {
        let (mine, former) = (try board.bead(3, in: context), try board.bead(1, in: context))
        try mine.setValue(.toOne(former), forKey: "best")
        try context.save()
        let theirs = try beads(other)
        try theirs[3].setValue(.toOne(theirs[2]), forKey: "best")
        try other.save()
        context.processPendingChanges()
        let id = try #require(board.ids[2])
        #expect(try board.shown(mine, .best) == [2])
        #expect(context.registeredObject(for: id) == nil)

        try context.undo()

        #expect(try board.shown(mine, .best) == [])
        let present = try board.bead(2, in: context)
        #expect(try board.shown(present, .fans) == [], "one end leads to an object that does not lead back")
        try context.saveAndCompare()
    }

    @Test func `undoing a deletion leaves both ends equal where a merge has emptied the other one (MO-24, MC-56)`()
        throws
    {
        let (mine, theirs) = (try beads(context), try beads(other))
        // A row that is read below changes must decide at once about the deleted object to which it leads.
        try mine[1].setValue(.integer(7), forKey: "a")
        context.processPendingChanges()
        try context.delete(mine[4])
        context.processPendingChanges()
        try theirs[1].setValue(.toOne(theirs[4]), forKey: "best")
        try other.save()
        context.processPendingChanges()
        #expect(try board.shown(mine[1], .best) == [] && undoManager.undoCount == 2)

        for _ in 0..<2 {
            try context.undo()

            #expect(try !mine[4].isDeleted && board.shown(mine[4], .fans) == [1])
            #expect(try board.shown(mine[1], .best) == [4], "the undo leaves one end empty, as the merge has left it")
            #expect(try board.shown(mine[1], .a) == [7])
            try context.redo()
            #expect(try mine[4].isDeleted && board.shown(mine[1], .best) == [])
        }
        try context.undo()
        try context.saveAndCompare()
    }

    @Test func `undoing a deletion relates nothing again that another context has led away meanwhile (MC-56)`() throws {
        // With `nullify` the deletion would empty the other ends itself, and its undo would restore them.
        let board = try BeadBoard(.memory, count: 5, rules: [.queue: .noAction])
        let (context, other) = (ManagedObjectContext(board.coordinator), ManagedObjectContext(board.coordinator))
        let theirs = try (0..<5).map { try board.bead($0, in: other) }
        try theirs[0].setValue(.toMany([theirs[2], theirs[3]]), forKey: "queue")
        try other.save()
        context.automaticallyMergesChangesFromParent = true
        context.undoManager = UndoStack()
        let mine = try (0..<5).map { try board.bead($0, in: context) }
        try mine[2].setValue(.toOne(nil), forKey: "head")
        context.processPendingChanges()
        try context.delete(mine[0])
        context.processPendingChanges()
        try theirs[3].setValue(.toOne(nil), forKey: "head")
        try other.save()
        context.processPendingChanges()

        try context.undo()

        #expect(try !mine[0].isDeleted && board.shown(mine[3], .head) == [])
        #expect(try board.shown(mine[0], .queue) == [], "a changed list has an object that does not lead back")
    }

    @Test func `what a merge relates is not undone`() throws {
        let (mine, theirs) = (try beads(context), try beads(other))
        for bead in mine.prefix(2) { try bead.setValue(.integer(7), forKey: "a") }
        context.processPendingChanges()
        try theirs[0].setValue(.toOne(theirs[1]), forKey: "mate")
        try other.save()
        context.processPendingChanges()
        #expect(undoManager.undoCount == 1)
        try context.undo()
        #expect(try board.shown(mine[0], .a) == [0] && board.shown(mine[0], .mate) == [1])
        #expect(try board.shown(mine[1], .mateOf) == [0] && undoManager.redoCount == 1)
    }

    @Test(arguments: [false, true])
    func `delete rules that run again after a merge register nothing, and what was undone can be redone (MC-57)`(
        _ isChild: Bool
    ) throws {
        let theirs = try beads(other)
        for property in [BeadProperty.tags, .friends, .list, .queue] {
            try theirs[0].setValue(.toMany([theirs[1], theirs[2]]), forKey: property.name)
        }
        try theirs[0].setValue(.toOne(theirs[3]), forKey: "best")
        try other.save()
        let context = isChild ? ManagedObjectContext(parent: other) : context
        context.undoManager = undoManager
        context.processPendingChanges()
        let mine = try beads(context)
        try context.delete(mine[0])
        context.processPendingChanges()
        try mine[4].setValue(.integer(7), forKey: "a")
        try context.undo()
        #expect(undoManager.undoCount == 1 && undoManager.redoCount == 1)

        try theirs[0].setValue(.integer(5), forKey: "b")
        try other.save()
        context.processPendingChanges()

        #expect(undoManager.undoCount == 1 && undoManager.redoCount == 1)
        try context.redo()
        #expect(try board.shown(mine[4], .a) == [7])
        for _ in 0..<2 { try context.undo() }
        #expect(try !mine[0].isDeleted && board.shown(mine[0], .b) == [5] && board.shown(mine[3], .fans) == [0])
        for property in [BeadProperty.tags, .friends, .list] {
            let inverse = try #require(property.inverse)
            #expect(try board.shown(mine[0], property) == [1, 2], "\(property)")
            #expect(try board.shown(mine[1], inverse) == [0] && board.shown(mine[2], inverse) == [0], "\(inverse)")
        }
        #expect(try board.shown(mine[0], .queue) == [1, 2] && board.shown(mine[1], .head) == [0])
    }

    @Test func `a row that was saved again under its ID reads as it was saved`() throws {
        let mine = try beads(context)
        let properties: [BeadProperty] = [.tags, .list, .listed, .friends, .fans, .queue]
        for property in properties { try mine[0].setValue(.toMany([mine[1], mine[2]]), forKey: property.name) }
        try context.save()
        let id = mine[0].objectID
        try context.delete(mine[0])
        try context.save()
        try context.undo()
        // No row is stored under this ID now, so the object shows its new values alone.
        for property in properties { #expect(try board.shown(mine[0], property) == [1, 2]) }
        try context.save()
        #expect(mine[0].objectID == id)
        for property in properties { #expect(try board.shown(mine[0], property) == [1, 2]) }
        context.compareWithFreshContext()
    }

    @Test func `redoing a deletion counts once what it takes away`() throws {
        let mine = try beads(context)
        for number in [0, 1] { try mine[number].setValue(.toMany([mine[2]]), forKey: "tags") }
        try context.save()
        let tagged: ToMany<Bead> = mine[2]._get("tagged", at: BeadProperty.tagged.rawValue)
        try context.delete(mine[0])
        context.processPendingChanges()
        #expect(tagged.count == 1)
        try context.undo()
        #expect(tagged.count == 2)
        try context.redo()
        #expect(tagged.count == 1)
        try context.undo()
        #expect(tagged.count == 2)
    }
}
