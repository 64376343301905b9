// Random saves whose insertions share unique values with rows and with each other, compared with a plain oracle that
// makes one change after another.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct MergedInsertionWalkTests {
    @Test(arguments: StoreKind.allCases) func `random insertions go where the oracle says`(kind: StoreKind) throws {
        let walkCount = campaignCount("ESPALIER_MERGED_WALKS", default: 4)
        for run in 0..<UInt64(walkCount) {
            let seed = testSeed(default: 40_000) &+ run
            let walk = try MergedInsertionWalk(kind, seed: seed)
            for step in 0..<60 {
                try walk.save(step)
                guard walk.isEqual else {
                    Issue.record("seed \(seed), step \(step): \(walk.differences)")
                    return
                }
            }
            try walk.register.check()
            #expect(walk.mergedCount > 3 && walk.refusedCount > 2, "seed \(seed): the walk tries too little")
        }
    }
}

/// The expected content of one row.
private struct OracleRow: Equatable {
    var entityName: String
    /// The values of the entity's attributes that are not null.
    var values: [String: AttributeValue]
    var city: ObjectID?
    var clubs: Set<ObjectID> = []

    func key(_ constraint: ConstraintName) -> [AttributeValue]? {
        let isIn = entityName == constraint.entityName || entityName == "Company" && constraint.entityName == "Party"
        guard isIn else { return nil }
        let key = constraint.properties.compactMap { $0 == "city" ? city.map { .objectID($0) } : values[$0] }
        return key.count == constraint.properties.count ? key : nil
    }
}

private final class MergedInsertionWalk {
    let register: Register
    private var random: SeededGenerator
    private var rows: [ObjectID: OracleRow] = [:]
    private(set) var differences = ""
    private(set) var mergedCount = 0
    private(set) var refusedCount = 0
    private static let constraints = [
        Register.name, Register.code, ConstraintName("City", ["name"]), ConstraintName("Street", ["city", "name"]),
    ]

    init(_ kind: StoreKind, seed: UInt64) throws {
        register = try Register(kind)
        random = SeededGenerator(seed: seed)
    }

    var isEqual: Bool { differences.isEmpty }

    /// Saves a random request in the store and in the oracle.
    func save(_ step: Int) throws {
        var request = SaveRequest()
        for constraint in Self.constraints where !random.oneIn(16) {
            request.constraintActions[constraint] = random.oneIn(4) ? .keep : random.oneIn(16) ? .refuse : .merge
        }
        var after = rows
        try deleteSome(&request, &after)
        try updateSome(&request, &after)
        let targets = try insertSome(&request, &after)
        let isUnique = Self.constraints.allSatisfy { constraint in
            let keys = after.values.compactMap { $0.key(constraint) }
            return Set(keys).count == keys.count
        }
        do throws(StoreError) {
            let result = try register.fixture.store.save(request)
            guard isUnique else { return differences = "saved what is not unique" }
            take(result, request, targets, after)
        } catch {
            guard case .constraint = error, !isUnique else { return differences = "refused: \(error)" }
            refusedCount += 1
        }
        try compare()
    }

    private func deleteSome(_ request: inout SaveRequest, _ after: inout [ObjectID: OracleRow]) throws {
        for id in Array(rows.keys).sorted(by: { $0.key < $1.key }) where random.oneIn(12) {
            request.deletions.append(.init(id: id, expectedVersion: try #require(try register.version(of: id))))
            after[id] = nil
            if id.entityName == "City" { after = after.filter { $1.entityName != "Street" || $1.city != id } }
            for other in after.keys {
                if after[other]?.city == id { after[other]?.city = nil }
                after[other]?.clubs.remove(id)
            }
        }
    }

    private func updateSome(_ request: inout SaveRequest, _ after: inout [ObjectID: OracleRow]) throws {
        let deleted = Set(request.deletions.map(\.id))
        for id in rows.keys.sorted(by: { $0.key < $1.key })
        where !deleted.contains(id) && after[id] != nil && random.oneIn(12) {
            let values = randomValues(of: id.entityName)
            request.updates.append(try register.fixture.update(id, values))
            for (name, value) in values { after[id]?.values[name] = value.isNull ? nil : value }
        }
    }

    /// Inserts rows; returns for each the ID of the row that has its values.
    private func insertSome(
        _ request: inout SaveRequest, _ after: inout [ObjectID: OracleRow]
    ) throws -> [ObjectID] {
        var targets: [ObjectID] = []
        func pick(_ entityName: String) -> ObjectID? {
            let all = after.keys.filter { $0.entityName == entityName && (rows[$0] != nil || $0.isTemporary) }
                .sorted { $0.isTemporary == $1.isTemporary ? $0.key < $1.key : $1.isTemporary }
            let merged = zip(request.insertions, targets).filter { $0.id.entityName == entityName && $0.id != $1 }
            let candidates = all + merged.map(\.0.id)
            return candidates.isEmpty || random.oneIn(4) ? nil : random.pick(candidates)
        }
        // Insert destinations of unique values first, which is the order of the store.
        for entityName in ["City", "Club", "Party", "Company", "Street"] {
            for _ in 0..<random.next() % 4 {
                var row = try register.insertion(entityName)
                let values = randomValues(of: entityName)
                for (name, value) in values {
                    row.values[try #require(register.fixture.entity(entityName).attribute(named: name)).slot] = value
                }
                func place(_ id: ObjectID) -> ObjectID {
                    request.insertions.firstIndex { $0.id == id }.map { targets[$0] } ?? id
                }
                var new = OracleRow(entityName: entityName, values: values.filter { !$1.isNull })
                if entityName != "City", entityName != "Club", let city = pick("City") {
                    row.destinations[try register.slot("city", entityName)] = city
                    new.city = place(city)
                }
                if entityName == "Party", let club = pick("Club") {
                    request.links.append(.init(owner: row.id, slot: try register.slot("clubs", "Party"), added: [club]))
                    new.clubs = [place(club)]
                }
                targets.append(insert(new, row.id, request.constraintActions, &after))
                request.insertions.append(row)
            }
        }
        return targets
    }

    /// Inserts one row, or merges it into another; returns the ID of the row that has its values.
    private func insert(
        _ new: OracleRow, _ id: ObjectID, _ actions: [ConstraintName: ConstraintAction],
        _ after: inout [ObjectID: OracleRow]
    ) -> ObjectID {
        var found = Set<ObjectID>()
        var wanted: [ConstraintAction] = []
        for constraint in Self.constraints {
            guard let key = new.key(constraint) else { continue }
            // A key with several holders makes the save fail in any case.
            let holders = after.filter { $1.key(constraint) == key }.map(\.key)
            guard !holders.isEmpty else { continue }
            found.formUnion(holders)
            wanted.append(actions[constraint] ?? .refuse)
        }
        guard found.count == 1, let target = found.first, !wanted.contains(.refuse), let row = after[target],
            row.entityName == new.entityName || row.entityName == "Company"
        else {
            after[id] = new
            return id
        }
        if wanted.contains(.merge) {
            after[target]?.values.merge(new.values) { $1 }
            if let city = new.city { after[target]?.city = city }
        }
        after[target]?.clubs.formUnion(new.clubs)
        return target
    }

    /// Adopts the result: replaces temporary IDs by permanent ones, and compares the outcomes of the insertions.
    private func take(
        _ result: SaveResult, _ request: SaveRequest, _ targets: [ObjectID], _ after: [ObjectID: OracleRow]
    ) {
        mergedCount += result.merged.count
        var permanent: [ObjectID: ObjectID] = [:]
        for (position, row) in request.insertions.enumerated() where targets[position] == row.id {
            permanent[row.id] = result.inserted.ids[position]
        }
        func place(_ id: ObjectID) -> ObjectID { permanent[id] ?? id }
        for (position, outcome) in result.insertions.enumerated() {
            let (row, target) = (request.insertions[position].id, targets[position])
            switch outcome {
            case .inserted where target == row: break
            case .merged(let id, _) where target != row && id == place(target): break
            default: differences = "insertion \(position) is \(outcome), and should be in \(place(target))"
            }
        }
        rows = [:]
        for (id, row) in after {
            var row = row
            (row.city, row.clubs) = (row.city.map(place), Set(row.clubs.map(place)))
            rows[place(id)] = row
        }
    }

    private func compare() throws {
        let store = register.fixture.store
        var found: [ObjectID: OracleRow] = [:]
        for name in ["City", "Club", "Party", "Street"] {
            let entity = try register.fixture.entity(name)
            for snapshot in try store.fetch(register.fixture.request(name)) {
                var row = OracleRow(entityName: snapshot.id.entityName, values: [:])
                for attribute in entity.attributes where attribute.name != "rank" {
                    let value = snapshot.value(at: attribute.slot)
                    if !value.isNull { row.values[attribute.name] = value }
                }
                row.city = entity.relationship(named: "city").flatMap { snapshot.destination(at: $0.slot) }
                if name == "Party" {
                    row.clubs = Set(try register.fixture.links(snapshot.id, "clubs"))
                    if let city = row.city, try !register.fixture.links(city, "parties").contains(snapshot.id) {
                        differences = "\(city) does not list \(snapshot.id)"
                    }
                    for club in row.clubs where try !register.fixture.links(club, "members").contains(snapshot.id) {
                        differences = "\(club) does not list \(snapshot.id)"
                    }
                }
                found[snapshot.id] = row
            }
        }
        guard found != rows, differences.isEmpty else { return }
        for id in Set(found.keys).union(rows.keys) where found[id] != rows[id] {
            differences +=
                "\(id): found \(found[id].map { "\($0)" } ?? "none"), expected \(rows[id].map { "\($0)" } ?? "none"); "
        }
    }

    private func randomValues(of entityName: String) -> [String: AttributeValue] {
        let name = random.oneIn(5) ? AttributeValue.null : .string("\(random.next() % 16)")
        switch entityName {
        case "City": return ["name": name, "size": .integer(random.smallPositive())]
        case "Street": return ["name": name, "houses": .integer(random.smallPositive())]
        case "Club": return ["name": name]
        default:
            var values: [String: AttributeValue] = ["note": .string("\(random.next() % 100)")]
            if !random.oneIn(3) { values["name"] = name }
            if random.oneIn(2) { values["code"] = random.oneIn(4) ? .null : .integer(random.smallPositive()) }
            return values
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func smallPositive() -> Int64 { Int64(next() % 24) + 1 }
}
