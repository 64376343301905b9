// Former values, changes, checks and violations of properties by key path: what there is by name, with the types of the
// properties.

import Espalier
import Testing

@Suite struct TypedValueTests {
    private func context() throws -> ManagedObjectContext {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: [Ballot.self]))
        try coordinator.addPersistentStore(.inMemory)
        return ManagedObjectContext(coordinator)
    }

    /// A saved ballot "first" with a rival and two seconds, and those.
    private func saved(in context: ManagedObjectContext) throws -> (ballot: Ballot, others: [Ballot]) {
        let ballots = (0..<3).map { _ in Ballot(context: context) }
        for (ballot, name) in zip(ballots, ["first", "second", "third"]) { ballot.name = name }
        let ballot = ballots[0]
        (ballot.votes, ballot.color, ballot.rival) = (7, .green, ballots[1])
        ballot.seconds = [ballots[2], ballots[1]]
        try context.save()
        return (ballot, Array(ballots[1...]))
    }

    @Test func `committed values have the types of their properties, whatever is changed (MO-34)`() throws {
        let context = try context()
        let (ballot, others) = try saved(in: context)
        (ballot.name, ballot.votes, ballot.note, ballot.color, ballot.rival) = ("changed", 8, "new", nil, nil)
        ballot.seconds = []

        let (name, votes) = (try ballot.committedValue(of: \.name), try ballot.committedValue(of: \.votes))
        #expect(name == "first" && votes == 7)
        let (note, color) = (try ballot.committedValue(of: \.note), try ballot.committedValue(of: \.color))
        #expect(note == nil && color == .green)
        let (rival, seconds) = (try ballot.committedValue(of: \.rival), try ballot.committedValue(of: \.seconds))
        #expect(rival == others[0].ref && seconds == [others[1].ref, others[0].ref])
        let none = try Ballot(context: context).committedValue(of: \.name)
        #expect(none == nil)
        // By name there are the same values.
        #expect(try ballot.committedValues(forKeys: Ballot.propertyNames(of: \.name, \.votes)).count == 2)
    }

    @Test func `a property is changed as long as it differs from its committed value (MO-35)`() throws {
        let context = try context()
        let (ballot, others) = try saved(in: context)
        #expect(try !ballot.isChanged(\.name) && !ballot.isChanged(\.seconds))
        (ballot.name, ballot.rival) = ("changed", nil)
        #expect(try ballot.isChanged(\.name) && ballot.isChanged(\.rival) && !ballot.isChanged(\.votes))
        (ballot.name, ballot.rival) = ("first", others[0])
        #expect(try !ballot.isChanged(\.name) && !ballot.isChanged(\.rival))
    }

    @Test func `a property is changed in an event until the event ends, by key path too (MO-36)`() throws {
        let context = try context()
        let (ballot, others) = try saved(in: context)
        #expect(throws: ContextError.self) { try ballot.isChangedInEvent(\.name) }
        context.recordsChangesOfEvent = true
        (ballot.name, ballot.rival) = ("changed", others[1])
        #expect(try ballot.isChangedInEvent(\.name) && ballot.isChangedInEvent(\.rival))
        #expect(try !ballot.isChangedInEvent(\.votes) && !others[0].isChangedInEvent(\.name))
        #expect(throws: ContextError.self) { try ballot.isChangedInEvent(\.half) }
        context.processPendingChanges()
        #expect(try !ballot.isChangedInEvent(\.name) && ballot.isChanged(\.name))
    }

    @Test func `a stored value of another type and a path of no property are errors, and no values`() throws {
        let context = try context()
        let (ballot, _) = try saved(in: context)
        try ballot.setValue(.string("odd"), forKey: Ballot.propertyName(of: \.color))
        try context.save()

        for call in [
            { _ = try ballot.committedValue(of: \.color) }, { _ = try ballot.committedValue(of: \.half) },
            { _ = try ballot.isChanged(\.half) },
        ] {
            let error = #expect(throws: ContextError.self) { try call() }
            guard case .violations(let found)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(found.count == 1 && ["color", "\(\Ballot.half)"].contains(found[0].property))
        }
        #expect(!context.hasChanges)
    }

    @Test func `a value is checked on demand by key path, and the class may replace it (MO-37)`() throws {
        let context = try context()
        let ballot = Ballot(context: context)
        var (votes, note): (Int, String?) = (500, nil)
        try ballot.validateValue(&votes, for: \.votes)
        try ballot.validateValue(&note, for: \.note)
        #expect(votes == 100 && note == "none" && ballot.votes == 0 && ballot.note == nil)

        votes = -1
        var found: [Violation] = []
        do throws(ContextError) {
            try ballot.validateValue(&votes, for: \.votes)
        } catch {
            found = ballot.violations(of: \.votes, in: error)
        }
        #expect(votes == -1 && found.count == 1)
    }

    @Test func `the violations of a property are found in the error of a save, also among other findings`() throws {
        let context = try context()
        let (ballot, others) = try saved(in: context)
        (ballot.votes, others[0].votes) = (-1, -2)
        let thrown = #expect(throws: ContextError.self) { try context.save() }
        let error = try #require(thrown)

        #expect(ballot.violations(of: \.votes, in: error).map(\.object) == [ballot.objectID])
        #expect(ballot.violations(of: \.name, in: error).isEmpty)
        #expect(others[1].violations(of: \.votes, in: error).isEmpty)
        let several = ContextError.several([error, .objectNotFound(ballot.objectID)])
        #expect(ballot.violations(of: \.votes, in: several).count == 1)
        #expect(ballot.violations(of: \.votes, in: .partlySaved(underlying: several)).count == 1)
        #expect(ballot.violations(of: \.half, in: error).isEmpty)
    }

    @Test func `a hook names properties by key path, and its own error is found beside them (MO-37, MO-38)`() throws {
        let context = try context()
        let (ballot, _) = try saved(in: context)
        (ballot.name, ballot.votes) = ("rigged", 99)
        let thrown = #expect(throws: ContextError.self) { try context.save() }
        let error = try #require(thrown)

        let names = ballot.violations(of: \.name, in: error)
        #expect(names.count == 1 && names.first?.value == .string("rigged") && names.first?.remedy == "count again")
        let votes = ballot.violations(of: \.votes, in: error)
        #expect(votes.count == 1 && votes.first?.value == .integer(99))
        #expect((votes.first?.underlying as? Ballot.Rigged)?.byVotes == 92)
        ballot.name = "fair"
        try context.save()
    }
}

enum BallotColor: String { case green, blue }

@Entity final class Ballot: ManagedObject {
    var name: String = ""
    var votes: Int = 0
    var note: String?
    var color: BallotColor?
    var rival: Ballot?
    var seconds: [Ballot]
    var half: Int { votes / 2 }

    struct Negative: Error {}
    struct Rigged: Error { let byVotes: Int }

    override func validateForUpdate() throws {
        guard name == "rigged" else { return }
        throw ContextError.violations([
            violation(at: \.name, value: name, message: "the ballot is rigged", remedy: "count again"),
            violation(at: \.votes, value: votes, message: "there are too many", underlying: Rigged(byVotes: votes - 7)),
        ])
    }

    override class var validatedKeys: [String] { Ballot.propertyNames(of: \.votes) }
    override func validate(_ value: inout PropertyValue, forKey key: String) throws {
        switch (key, value) {
        case (Ballot.propertyName(of: \.votes), .attribute(.integer(let number))):
            if number < 0 { throw Negative() }
            if number > 100 { value = .attribute(.integer(100)) }
        case (Ballot.propertyName(of: \.note), .attribute(.null)): value = .attribute(.string("none"))
        default: break
        }
    }
}
