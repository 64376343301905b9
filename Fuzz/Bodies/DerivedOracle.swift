// An oracle that decides in the simplest way, with dictionaries, whether a store's derived trees agree with its rows.
//
// It shares the key encodings with the store, and nothing with the check: no sums, no order, no second pass.

import EspalierEngine
import EspalierModel
import EspalierStore

/// The content of a store: the bytes of every tree.
typealias TreeContents = [String: [[UInt8]: [UInt8]]]

/// Judges the content of a store.
struct DerivedOracle {
    private let model = DerivedFixture.model
    private let contents: TreeContents
    private let rows: [ObjectSnapshot]
    /// The entity of each row, by hierarchy and key.
    private var entities: [RowName: Entity] = [:]

    private struct RowName: Hashable {
        let root: Int
        let key: UInt64
    }

    private struct Pair: Hashable {
        let owner: UInt64
        let destination: UInt64
    }

    init(_ contents: TreeContents, rows: [ObjectSnapshot]) {
        (self.contents, self.rows) = (contents, rows)
        for row in rows {
            guard let entity = model.entity(named: row.id.entityName) else { continue }
            entities[RowName(root: entity.root, key: row.id.key)] = entity
        }
    }

    /// Whether rows and derived trees agree and every reference leads to a row.
    var isInOrder: Bool {
        model.entities.allSatisfy { entity in
            groupsAgree(entity)
                && entity.relationships.allSatisfy { relationship in
                    relationship.isToMany
                        ? relationship.declaredBy != entity.index || listsAgree(relationship, of: entity)
                        : toOnesLead(relationship, of: entity)
                }
        } && countersAgree
    }

    private func rows(of entity: Entity) -> [(row: ObjectSnapshot, entity: Entity)] {
        rows.compactMap { row in
            guard let own = model.entity(named: row.id.entityName), own.isKind(of: entity) else { return nil }
            return (row, own)
        }
    }

    /// The number of an entity; entities are numbered in the order of the model.
    private func number(_ entity: Entity) -> UInt16 { UInt16(entity.index + 1) }

    // MARK: Indexes

    private func groupsAgree(_ entity: Entity) -> Bool {
        StoreSchema(model: model).groups.filter { $0.entity == entity.index }.allSatisfy { group in
            let name = "\(group.isUnique ? "unique" : "index"):\(entity.name).\(group.name)"
            var expected: [[UInt8]: [UInt8]] = [:]
            var holders: Set<[UInt8]> = []
            var cuts: UInt64 = 0
            for (row, own) in rows(of: entity) {
                let (codes, hasNull) = codes(of: group, row)
                if group.isUnique, !hasNull, !holders.insert(codes).inserted { return false }
                if codes.count > 512 { cuts += 1 }
                let value = [UInt8(truncatingIfNeeded: number(own)), 0, codes.count > 512 ? 1 : 0]
                expected[codes.prefix(512) + bigEndian(row.id.key)] = value
            }
            return contents[name] == expected && counter(3 << 32 | treeNumber(name)) == cuts
        }
    }

    private func codes(of group: KeyGroup, _ row: ObjectSnapshot) -> (bytes: [UInt8], hasNull: Bool) {
        var (codes, hasNull): ([UInt8], Bool) = ([], false)
        for element in group.elements {
            guard case .attribute(let slot)? = element.property else { continue }
            let value = row.value(at: slot)
            if value.isNull { hasNull = true }
            KeyCoding.append(value, as: element.type, isAscending: element.isAscending, to: &codes)
        }
        return (codes, hasNull)
    }

    // MARK: Links

    private func toOnesLead(_ relationship: Relationship, of entity: Entity) -> Bool {
        let wanted = model.destination(of: relationship)
        return rows(of: entity).allSatisfy { row, _ in
            guard let id = row.destination(at: relationship.slot) else { return true }
            guard let found = entities[RowName(root: wanted.root, key: id.key)] else { return false }
            return found.name == id.entityName && found.isKind(of: wanted)
        }
    }

    private func listsAgree(_ relationship: Relationship, of entity: Entity) -> Bool {
        let member = model.destination(of: relationship)
        guard let here = pairs("links:\(entity.name).\(relationship.name)", relationship.isOrdered, entity, member)
        else { return false }
        guard let inverse = model.inverse(of: relationship) else {
            guard let back = pairs("owners:\(entity.name).\(relationship.name)", false, member, entity) else {
                return false
            }
            return Set(back.map { Pair(owner: $0.destination, destination: $0.owner) }) == here
        }
        if inverse.isToMany {
            let declaring = model.entities[inverse.declaredBy]
            guard let back = pairs("links:\(declaring.name).\(inverse.name)", inverse.isOrdered, member, entity) else {
                return false
            }
            return Set(back.map { Pair(owner: $0.destination, destination: $0.owner) }) == here
        }
        var expected: Set<Pair> = []
        for (row, _) in rows(of: member) {
            guard let owner = row.destination(at: inverse.slot) else { continue }
            expected.insert(Pair(owner: owner.key, destination: row.id.key))
        }
        return here == expected
    }

    /// The links of a tree; `nil` if an entry is invalid, occurs twice, or refers to a row that does not exist.
    private func pairs(_ tree: String, _ isOrdered: Bool, _ owner: Entity, _ member: Entity) -> Set<Pair>? {
        var pairs: Set<Pair> = []
        for (key, value) in contents[tree] ?? [:] {
            guard key.count == (isOrdered ? 24 : 16), value.count == 2 else { return nil }
            let pair = Pair(owner: number(key.prefix(8)), destination: number(key.suffix(8)))
            guard let from = entities[RowName(root: owner.root, key: pair.owner)], from.isKind(of: owner),
                let to = entities[RowName(root: member.root, key: pair.destination)], to.isKind(of: member),
                value == [UInt8(truncatingIfNeeded: self.number(to)), 0], pairs.insert(pair).inserted
            else { return nil }
        }
        return pairs
    }

    // MARK: Counters

    private var countersAgree: Bool {
        let areCounters = (contents["counters"] ?? [:]).allSatisfy { key, value in
            let (kind, number) = (number(key) >> 32, number(key) & 0xFFFF_FFFF)
            return value.count == 8
                && (kind == 3 || (1...2).contains(kind) && (1...UInt64(model.entities.count)).contains(number))
        }
        return areCounters
            && model.entities.allSatisfy { entity in
                let exact = rows.filter { $0.id.entityName == entity.name }.count
                guard counter(1 << 32 | UInt64(number(entity))) == UInt64(exact) else { return false }
                guard entity.root == entity.index else { return true }
                let greatest = rows(of: entity).map(\.row.id.key).max() ?? 0
                return counter(2 << 32 | UInt64(number(entity))) ?? 0 >= greatest
            }
    }

    /// A counter's value, 0 if it was never written; `nil` if the entry is invalid.
    private func counter(_ key: UInt64) -> UInt64? {
        guard let bytes = contents["counters"]?[bigEndian(key)] else { return 0 }
        return bytes.count == 8 ? number(bytes.reversed()) : nil
    }

    private func treeNumber(_ name: String) -> UInt64 { DerivedRun.treeNumbers[name] ?? 0 }

    private func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    private func bigEndian(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
    }
}
