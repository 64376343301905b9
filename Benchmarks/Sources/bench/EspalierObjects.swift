// Espalier as a contender of the object lines: typed classes, contexts and saves, as an application writes them.

import BenchKit
import Espalier
import Foundation

@Entity final class Team: ManagedObject {
    var name: String = ""
    @Relationship(inverse: \Person.team) var people: Set<Person>
}

@Entity final class Person: ManagedObject {
    var name: String = ""
    var age: Int = 0
    var score: Double = 0
    @Attribute(.indexed) var email: String = ""
    var team: Team?
}

final class EspalierObjects: ObjectContender {
    static let name = "espalier"
    private let coordinator: PersistentStoreCoordinator
    private var ids: [ObjectID?] = []
    private var kept: [Person] = []
    private var keeper: ManagedObjectContext?
    private var changed: [Person] = []

    init(folder: String) throws {
        coordinator = try PersistentStoreCoordinator(
            file: folder + "/objects.espalier", of: [Team.self, Person.self])
    }

    func insert(_ people: People) throws {
        let context = ManagedObjectContext(coordinator)
        add(0..<people.count, people, makeTeams(people, in: context), in: context)
        try context.save()
    }

    func fill(_ people: People) throws {
        var context = ManagedObjectContext(coordinator)
        var teams = makeTeams(people, in: context)
        for first in stride(from: 0, to: people.count, by: People.portionCount) {
            add(first..<min(people.count, first + People.portionCount), people, teams, in: context)
            try context.save()
            // The objects of a portion end with its context.
            let ids = teams.map(\.objectID)
            context = ManagedObjectContext(coordinator)
            teams = try ids.compactMap { try context.object(with: $0) as? Team }
        }
    }

    private func makeTeams(_ people: People, in context: ManagedObjectContext) -> [Team] {
        (0..<people.teamCount).map { number in
            let team = Team(context: context)
            team.name = People.teamName(number)
            return team
        }
    }

    private func add(_ numbers: Range<Int>, _ people: People, _ teams: [Team], in context: ManagedObjectContext) {
        for number in numbers {
            let person = Person(context: context)
            person.name = People.name(number)
            person.age = People.age(number)
            person.score = People.score(number)
            person.email = People.email(number)
            person.team = teams[people.team(number)]
        }
    }

    /// Calls `body` with each person: with the elements of an array if `keeping`, otherwise with one object after the
    /// other.
    private func forEachPerson(keeping: Bool, isObservable: Bool = false, _ body: (Person) -> Void) throws {
        let context = ManagedObjectContext(coordinator)
        context.isObservable = isObservable
        if keeping {
            for person in try context.fetch(FetchRequest<Person>()) { body(person) }
        } else {
            try context.enumerate(FetchRequest<Person>(), body)
        }
    }

    func fetchFaults(keeping: Bool) throws -> Int {
        var count = 0
        try forEachPerson(keeping: keeping) { count &+= $0.isFault ? 1 : 0 }
        return count
    }

    func fetchWhole(keeping: Bool) throws -> Int { try fetchWhole(keeping: keeping, isObservable: false) }

    func fetchObservable() throws -> Int { try fetchWhole(keeping: false, isObservable: true) }

    private func fetchWhole(keeping: Bool, isObservable: Bool) throws -> Int {
        var sum = 0
        try forEachPerson(keeping: keeping, isObservable: isObservable) { person in
            sum &+= person.name.utf8.count &+ person.age
            sum &+= Int(person.score) &+ person.email.utf8.count
        }
        return sum
    }

    func fillCache() throws {
        let predicate = FetchPredicate.comparison(
            .init(.keyPath(FetchKeyPath(["age"])), .greaterThan, .value(.integer(0))))
        blackHole(try ManagedObjectContext(coordinator).count(for: FetchRequest<Person>(predicate)))
    }

    func fetchAndKeep() throws -> [AnyObject] {
        let context = ManagedObjectContext(coordinator)
        let people = try context.fetch(FetchRequest<Person>())
        for person in people { blackHole(person.name.utf8.count &+ person.age &+ person.email.utf8.count) }
        return people + [context]
    }

    func learnIdentities(_ people: People) throws {
        ids = Array(repeating: nil, count: people.count)
        try ManagedObjectContext(coordinator).enumerate(FetchRequest<Person>()) { person in
            if let number = People.number(ofEmail: person.email) { ids[number] = person.objectID }
        }
    }

    func faultIn(_ numbers: [Int]) throws -> Int {
        let context = ManagedObjectContext(coordinator)
        var sum = 0
        for number in numbers {
            guard let id = ids[number], let person = try context.object(with: id) as? Person else { continue }
            sum &+= person.name.utf8.count
        }
        return sum
    }

    func fetchByEmail(_ numbers: [Int]) throws -> Int {
        let context = ManagedObjectContext(coordinator)
        var sum = 0
        for number in numbers {
            let predicate = FetchPredicate.comparison(
                .init(.keyPath(FetchKeyPath(["email"])), .equal, .value(.string(People.email(number)))))
            for person in try context.fetch(FetchRequest<Person>(predicate)) { sum &+= person.name.utf8.count }
        }
        return sum
    }

    func walkToTeam(keeping: Bool) throws -> Int {
        var sum = 0
        try forEachPerson(keeping: keeping) { sum &+= $0.team?.name.utf8.count ?? 0 }
        return sum
    }

    func sums(byTeam: Bool) throws -> Int {
        let key = byTeam ? "team" : "age"
        var request = ValueRequest(
            entityName: "Person",
            columns: [FetchColumn(key), .count(), .sum("score", as: "scores"), .sum("age", as: "ages")])
        request.propertiesToGroupBy = [FetchColumn(key)]
        var sum = 0
        for row in try ManagedObjectContext(coordinator).fetch(request) {
            guard case .integer(let count) = row.values[1], case .double(let scores) = row.values[2],
                case .integer(let ages) = row.values[3]
            else { continue }
            sum &+= Int(count) &+ Int(scores * 8) &+ Int(ages)
        }
        return sum
    }

    func update() throws {
        let context = ManagedObjectContext(coordinator)
        for person in try context.fetch(FetchRequest<Person>()) { person.age += 1 }
        try context.save()
    }

    func updateBesideStatement() throws { try update() }

    func deleteBesideStatement() throws { try delete() }

    /// Makes every person a year older, by one request.
    func updateByRequest() throws {
        var request = BatchUpdateRequest(entityName: "Person")
        try request.set(\Person.age, to: #Expression<Person, Int> { $0.age + 1 })
        try ManagedObjectContext(coordinator).execute(request)
    }

    /// Deletes all people, by one request.
    func deleteByRequest() throws {
        try ManagedObjectContext(coordinator).execute(BatchDeleteRequest(FetchRequest<Person>()))
    }

    func updateObservable() throws {
        let context = ManagedObjectContext(coordinator)
        context.isObservable = true
        for person in try context.fetch(FetchRequest<Person>()) { person.age += 1 }
        try context.save()
    }

    func updateTwoLevelsUp() throws {
        let context = ManagedObjectContext(coordinator)
        let child = ManagedObjectContext(parent: context)
        let grandchild = ManagedObjectContext(parent: child)
        for person in try grandchild.fetch(FetchRequest<Person>()) { person.age += 1 }
        for level in [grandchild, child, context] { try level.save() }
    }

    func keepPeople() throws {
        let context = ManagedObjectContext(coordinator)
        kept = try context.fetch(FetchRequest<Person>())
        for person in kept { blackHole(person.name.utf8.count &+ person.age &+ person.email.utf8.count) }
        keeper = context
    }

    func updateEach(of numbers: [Int]) throws {
        for number in numbers {
            kept[number].age += 1
            try keeper?.save()
        }
    }

    func changeUndoably(_ numbers: [Int]) throws {
        try keepPeople()
        keeper?.undoManager = UndoStack()
        changed = numbers.map { kept[$0] }
        for person in changed { person.age += 1 }
        keeper?.processPendingChanges()
    }

    func undoChanges() throws -> Int {
        try keeper?.undo()
        return changed.reduce(0) { $0 &+ $1.age }
    }

    func redoChanges() throws -> Int {
        try keeper?.redo()
        return changed.reduce(0) { $0 &+ $1.age }
    }

    func delete() throws {
        let context = ManagedObjectContext(coordinator)
        for person in try context.fetch(FetchRequest<Person>()) { try context.delete(person) }
        try context.save()
    }

    func newContext() -> ManagedObjectContext { ManagedObjectContext(coordinator) }

    func close() throws { try coordinator.closeStores() }
}
