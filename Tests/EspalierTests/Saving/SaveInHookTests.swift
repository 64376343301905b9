// The hooks of a running save: they may change and insert objects, but not save, reset or roll back.

import Espalier
import EspalierModel
import Testing

@Suite struct SaveInHookTests {
    private let context: ManagedObjectContext

    init() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: [Report.self]))
        try coordinator.addPersistentStore(.inMemory)
        context = ManagedObjectContext(coordinator)
    }

    private func storedTitles() throws -> [String?] {
        let reader = ManagedObjectContext(context.persistentStoreCoordinator)
        return try reader.fetch(FetchRequest<Report>(sortedBy: [SortKey("title")])).map(\.title)
    }

    private func report(_ title: String, _ act: @escaping (Report) throws -> Void = { _ in }) -> Report {
        let report = Report(context: context)
        (report.title, report.act) = (title, act)
        return report
    }

    // MARK: Objects that hooks insert

    @Test(arguments: ["willSave", "validateForInsert"])
    func `an object that a hook inserts and sets nothing of is saved`(_ hook: String) throws {
        let context = context
        var inserted: Report?
        let first = report("a") { report in
            if report.hook == hook, inserted == nil { inserted = Report(context: context) }
        }

        try context.saveAndCompare()

        let added = try #require(inserted)
        #expect(!added.isInserted && !added.objectID.isTemporary && !context.hasChanges && !first.hasChanges)
        #expect(try storedTitles() == [nil, "a"])
    }

    @Test func `an object that a validation hook changes first is saved with the others`() throws {
        let other = report("old")
        try context.saveAndCompare()
        let first = report("a") { report in
            if report.hook == "validateForInsert" { other.title = "new" }
        }

        try context.saveAndCompare()

        #expect(!first.hasChanges && !other.hasChanges)
        #expect(try storedTitles() == ["a", "new"])
    }

    @Test(arguments: ["willSave", "validateForInsert"])
    func `hooks that insert one more object at each call end in an error, with the context as before`(
        _ hook: String
    ) throws {
        let context = context
        func multiply(_ report: Report) {
            if report.hook == hook { Report(context: context).act = multiply }
        }
        let first = report("a", multiply)

        guard case .unsettledSave? = contextError({ try context.save() }) else {
            Issue.record("the save came to an end")
            return
        }

        #expect(context.insertedObjects == [first])
        first.act = { _ in }
        try context.saveAndCompare()
        #expect(try storedTitles() == ["a"])
    }

    // MARK: Values that validation hooks set

    @Test(arguments: ["validateForInsert", "validateForUpdate"])
    func `a validation hook that sets another value at each call ends in an error, with the context as before`(
        _ hook: String
    ) throws {
        let (context, other) = (context, report("other"))
        let first = report("a")
        if hook == "validateForUpdate" { try context.saveAndCompare() }
        (first.title, other.title) = ("", "changed")
        first.act = { report in
            if report.hook == hook { report.title? += "x" }
        }

        guard case .unsettledSave(let rounds)? = contextError({ try context.save() }) else {
            Issue.record("the save came to an end")
            return
        }

        #expect(rounds >= 100 && first.title == "" && other.title == "changed")
        #expect(hook == "validateForUpdate" ? first.isUpdated : first.isInserted)
        first.act = { _ in }
        try context.saveAndCompare()
        #expect(try storedTitles() == ["", "changed"])
    }

    @Test(arguments: ["validateForInsert", "validateForUpdate"])
    func `a validation hook may set the same value at each call, and what it sets is saved`(_ hook: String) throws {
        let (context, other) = (context, report("other"))
        let first = report("a")
        if hook == "validateForUpdate" { try context.saveAndCompare() }
        (first.title, other.title) = ("b", "c")
        var count = 0
        first.act = { report in
            guard report.hook == hook else { return }
            (report.title, other.title) = ("set", "set, too")
            count += 1
        }

        try context.saveAndCompare()

        #expect(try storedTitles() == ["set", "set, too"] && count == 2)
    }

    @Test func `a validation hook may set what is no number at each call`() throws {
        let context = context
        let first = report("a") { if $0.hook == "validateForInsert" { $0.score = .nan } }

        try context.save()

        #expect(first.score?.isNaN == true)
        #expect(try storedTitles() == ["a"])
    }

    @Test func `what a validation hook sets of an object that was validated before is validated again`() throws {
        let context = context
        let first = report("a")
        first.act = { if $0.hook == "validateForInsert", $0.title == "bad" { throw UndoError.noGroup } }
        let second = report("b") { if $0.hook == "validateForInsert" { first.title = "bad" } }

        #expect(violations { try context.save() }.map(\.object) == [first.objectID])

        #expect(first.title == "a" && context.insertedObjects == [first, second])
        second.act = { _ in }
        try context.saveAndCompare()
        #expect(try storedTitles() == ["a", "b"])
    }

    @Test func `a refresh in a hook takes the object out of the running save`() throws {
        let context = context
        let other = report("kept")
        let third = report("third")
        try context.saveAndCompare()
        (other.title, third.title) = ("given up", "third, changed")
        try context.delete(third)
        _ = report("a") { report in
            if report.hook == "validateForInsert" {
                for object in [other, third] { context.refresh(object, mergesChanges: false) }
            }
        }

        try context.saveAndCompare()

        #expect(try storedTitles() == ["a", "kept", "third"])
        #expect(!context.hasChanges && other.title == "kept" && third.title == "third")
    }

    // MARK: Saves, resets and rollbacks in hooks

    @Test(arguments: ["willSave", "validateForInsert", "didSave"])
    func `a save in a hook is answered with an error that names hook and object, and the save goes on`(
        _ hook: String
    ) throws {
        let context = context
        var found: [ContextError] = []
        let first = report("a") { report in
            guard report.hook == hook else { return }
            do throws(ContextError) { try context.save() } catch { found.append(error) }
        }
        let temporaryID = first.objectID

        try context.saveAndCompare()

        #expect(try storedTitles() == ["a"])
        let error = try #require(found.first)
        guard case .alreadySaving(hook, let object?) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(object == (hook == "didSave" ? first.objectID : temporaryID))
        #expect("\(error)".contains("\(hook) of \(object)") && "\(error)".contains("remove the call"))
    }

    @Test(arguments: ["validateForUpdate", "validateForDelete", "prepareForDeletion", "willTurnIntoFault"])
    func `a save in any other hook of a running save ends, too`(_ hook: String) throws {
        let context = context
        let (changed, deleted) = (report("changed"), report("deleted"))
        try context.saveAndCompare()
        var count = 0
        for object in [changed, deleted] {
            object.act = { report in
                guard report.hook == hook, !report.isInserted else { return }
                count += 1
                _ = contextError { try context.save() }
            }
        }
        _ = report("a") { report in
            guard report.hook == "willSave", hook == "prepareForDeletion" || hook == "willTurnIntoFault" else { return }
            if hook == "willTurnIntoFault" {
                if changed.title == "changed now" { context.refresh(changed, mergesChanges: false) }
            } else if !deleted.isDeleted {
                try context.delete(deleted)
            }
        }
        changed.title = "changed now"
        if hook == "validateForDelete" { try context.delete(deleted) }

        try context.saveAndCompare()

        #expect(count == 1 && !context.hasChanges)
    }

    @Test(arguments: ["willSave", "validateForInsert"], ["reset()", "rollback()"])
    func `a reset or rollback in a hook is refused, and the save says so`(_ hook: String, _ call: String) throws {
        let context = context
        let first = report("a") { report in
            guard report.hook == hook else { return }
            if call == "reset()" { context.reset() } else { context.rollback() }
        }

        let found = violations { try context.save() }

        #expect(found.count == 1 && found.first?.object == first.objectID, "\(found)")
        #expect("\(found)".contains("\(call) was refused") && "\(found)".contains("in \(hook) "))
        #expect(first.isInserted && first.title == "a" && context.insertedObjects == [first])
        first.act = { _ in }
        try context.saveAndCompare()
        #expect(try storedTitles() == ["a"])
    }

    @Test(arguments: ["reset()", "rollback()"])
    func `after the commit, in didSave, a reset and a rollback do their work`(_ call: String) throws {
        let context = context
        let reports = ["a", "b"].map { title in
            report(title) { report in
                guard report.hook == "didSave" else { return }
                if call == "reset()" { context.reset() } else { context.rollback() }
            }
        }

        try context.save()

        #expect(try storedTitles() == ["a", "b"])
        #expect(!context.hasChanges)
        #expect(reports.allSatisfy { ($0.managedObjectContext == nil) == (call == "reset()") })
    }

    @Test func `a hook may refresh, fetch and process changes while its context saves`() throws {
        let context = context
        context.automaticallyMergesChangesFromParent = true
        let other = report("other")
        try context.saveAndCompare()
        let second = ManagedObjectContext(context.persistentStoreCoordinator)
        (try second.existingObject(with: other.objectID) as? Report)?.title = "theirs"
        var count = 0
        _ = report("a") { report in
            guard report.hook == "willSave" || report.hook == "validateForInsert" else { return }
            count += 1
            if count == 1 { try second.save() }
            context.processPendingChanges()
            context.refreshAllObjects()
            _ = try context.fetch(FetchRequest<Report>())
            context.refresh(report, mergesChanges: true)
        }

        try context.saveAndCompare()

        #expect(count == 2)
        context.processPendingChanges()
        #expect(other.title == "theirs")
        #expect(try storedTitles() == ["a", "theirs"])
    }

    // MARK: Changes

    @Test func `an attribute that has its committed value again is no change`() throws {
        let first = report("a")
        #expect(first.hasPersistentChangedValues)
        try context.saveAndCompare()

        first.title = "b"
        #expect(first.hasPersistentChangedValues)
        first.title = "a"
        #expect(first.hasChanges && !first.hasPersistentChangedValues && first.changedValues().isEmpty)
    }

    @Test func `a new object has changed values where it differs from what it began with`() throws {
        let track = try Stack(.inMemory)
        let new = Track(context: track.context)

        #expect(new.hasChanges && !new.hasPersistentChangedValues && new.changedValues().isEmpty)
        new.seconds = 180
        #expect(!new.hasPersistentChangedValues)
        new.name = "x"
        #expect(new.changedValues() == ["name": .attribute(.string("x"))] && new.hasPersistentChangedValues)
    }

    @Test(arguments: StoreKind.allCases)
    func `adding and removing one destination is no change`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 2)
        let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        let album = try #require(artists[0].albums.first)
        let (first, last) = (album.tracks[0], album.tracks[1])

        artists[1].albums.insert(album)
        #expect(artists[0].hasPersistentChangedValues && artists[1].hasPersistentChangedValues)
        #expect(album.hasPersistentChangedValues)
        artists[0].albums.insert(album)
        #expect(artists.allSatisfy { $0.hasChanges && !$0.hasPersistentChangedValues })
        #expect(album.hasChanges && !album.hasPersistentChangedValues)

        album.tracks = [last, first]
        #expect(album.hasPersistentChangedValues)
        album.tracks = [first, last]
        #expect(!album.hasPersistentChangedValues)
        album.tracks = [first]
        #expect(album.hasPersistentChangedValues && last.hasPersistentChangedValues)
        album.tracks = [first, last]
        #expect(!album.hasPersistentChangedValues && !last.hasPersistentChangedValues)
    }
}

private final class Report: ManagedObject {
    /// The name of the hook that was called last.
    var hook = ""
    /// The action of every hook.
    var act: (Report) throws -> Void = { _ in }

    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Report",
            properties: [
                EntityDescription._property("title", String?.self), EntityDescription._property("score", Double?.self),
            ])
    }
    var score: Double? {
        get { _get("score", at: 1) }
        set { _set("score", at: 1, newValue) }
    }
    var title: String? {
        get { _get("title", at: 0) }
        set { _set("title", at: 0, newValue) }
    }

    private func run(_ hook: String) throws {
        self.hook = hook
        try act(self)
    }
    private func runAndRecord(_ hook: String) {
        do { try run(hook) } catch { Issue.record("\(hook): \(error)") }
    }

    override func willSave() { runAndRecord("willSave") }
    override func didSave() { runAndRecord("didSave") }
    override func prepareForDeletion() { runAndRecord("prepareForDeletion") }
    override func willTurnIntoFault() { runAndRecord("willTurnIntoFault") }
    override func validateForInsert() throws { try run("validateForInsert") }
    override func validateForUpdate() throws { try run("validateForUpdate") }
    override func validateForDelete() throws { try run("validateForDelete") }
}
