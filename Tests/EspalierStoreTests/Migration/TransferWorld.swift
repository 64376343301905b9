// An entity with random attributes in three versions of a model: rows have the layout of the first or the second one,
// and get that of the third. The expected values are computed from plain values.

import EspalierModel
import Foundation
import TestSupport
import Testing

@testable import EspalierStore

struct TransferWorld: CustomStringConvertible {
    /// The types that rows can have.
    static let types = AttributeType.allCases.filter { $0 != .undefined && $0 != .objectID }

    /// The fate of an attribute.
    private enum Change: CaseIterable {
        case keep, rename, require, retype, spell, shrink, remove, add, addWithDefault, storeTransient, stopStoring
    }

    /// One attribute in the three versions of its entity; `nil` = the version does not have it.
    private struct Track {
        var earlier: AttributeDescription?
        var old: AttributeDescription?
        var new: AttributeDescription?
        /// The value of rows of the earlier layout, if that does not have the attribute.
        var filled = AttributeValue.null

        /// Whether rows of the earlier layout have the attribute's value.
        var isInEarlier: Bool { earlier.map { $0.type == old?.type } ?? false }
        var isKept: Bool { old.map { !$0.isTransient } ?? false && new.map { !$0.isTransient } ?? false }
        var isRequired: Bool {
            guard let old, let new else { return false }
            return isKept && old.isOptional && !new.isOptional && !new.defaultValue.isNull
        }
        /// Whether values have the same bytes in both layouts.
        var keepsBytes: Bool {
            guard isKept, let old, let new, old.type == new.type else { return false }
            return old.elements.count <= new.elements.count
        }
        /// Whether integers become texts.
        var isSpelled: Bool {
            guard isKept, let old, let new else { return false }
            return TransferWorld.integers.contains(old.type) && new.type == .string
        }
    }

    private static let integers: [AttributeType] = [.integer16, .integer32, .integer64]
    /// The relationship whose references change.
    private static let movedName = "r1"

    private var random: SeededGenerator
    private let tracks: [Track]
    private let earlier: StoreNumbering
    private let older: StoreNumbering
    /// The numbering of the newer model.
    let newer: StoreNumbering
    private let earlierEntity: Entity
    private let oldEntity: Entity
    private let newEntity: Entity
    private let change: EntityChange
    private let entityNumber: UInt16

    init(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var tracks = [Self.text(), Self.derived(&random)]
        for number in 0..<Int.random(in: 0...20, using: &random) { tracks.append(Self.track(number, &random)) }
        let number: UInt16 = random.pick([1, 200, 256, 300])
        var models: [ManagedObjectModel] = []
        for version in [\Track.earlier, \Track.old, \Track.new] {
            let attributes = tracks.compactMap { $0[keyPath: version] }.shuffled(using: &random)
            let relationships = (0..<random.pick([0, 1, 3])).map { RelationshipDescription("r\($0)", to: "Row") }
            models.append(
                try ManagedObjectModel(entities: [
                    EntityDescription("Row", attributes: attributes, relationships: relationships)
                ]))
        }
        let (earlierEntity, oldEntity, newEntity) = (
            models[0].entities[0], models[1].entities[0], models[2].entities[0]
        )
        let match = ModelMatch(from: models[1], to: models[2])
        change = EntityChange(from: oldEntity, to: newEntity, match, PairOrigins(match)) { former, _ in
            former.name == Self.movedName
        }

        func layout(_ layout: UInt16, _ fields: Entity, of entity: Entity, defaultRow: [UInt8] = []) -> RowLayout {
            RowLayout(
                number: layout, entityNumber: number, fields: RowLayout.fields(of: fields), defaultRow: defaultRow,
                entity: entity)
        }
        let (first, second): (UInt16, UInt16) = random.oneIn(3) ? (254, 256) : (1, 2)
        earlier = Self.numbering([layout(first, earlierEntity, of: earlierEntity)], earlierEntity, number)
        let current = layout(second, oldEntity, of: oldEntity)
        var defaultRow: [UInt8] = []
        if random.oneIn(2) {
            for place in tracks.indices where !tracks[place].isInEarlier {
                guard let old = tracks[place].old, !old.isTransient, random.oneIn(2) else { continue }
                tracks[place].filled = random.value(of: old.type)
            }
            let values = oldEntity.attributes.map { attribute in
                tracks.first { $0.old?.name == attribute.name }?.filled ?? .null
            }
            defaultRow = RowEncoder(numbering: Self.numbering([current], oldEntity, number)).row(
                of: 0, version: 1, RowValues(values, relationshipCount: oldEntity.relationships.count))
        }
        let former = layout(first, earlierEntity, of: oldEntity, defaultRow: defaultRow)
        older = Self.numbering([former, current], oldEntity, number)
        let latest = layout(random.pick([1, 3, 254, 255, 300]), newEntity, of: newEntity)
        newer = Self.numbering([latest], newEntity, number)
        (self.earlierEntity, self.oldEntity, self.newEntity, entityNumber) = (
            earlierEntity, oldEntity, newEntity, number
        )
        (self.tracks, self.random) = (tracks, random)
    }

    /// A numbering whose last layout is that of new rows.
    private static func numbering(_ layouts: [RowLayout], _ entity: Entity, _ number: UInt16) -> StoreNumbering {
        var all = [RowLayout?](repeating: nil, count: Int(layouts.map(\.number).max() ?? 0) + 1)
        for layout in layouts { all[Int(layout.number)] = layout }
        var entities = [Entity?](repeating: nil, count: Int(number) + 1)
        entities[Int(number)] = entity
        return StoreNumbering(
            storeTag: 7, layouts: all, entities: entities, entityNumbers: [number], currentLayouts: [layouts.last])
    }

    var description: String {
        tracks.map { track in
            [track.earlier, track.old, track.new].map { $0.map { "\($0.name) \($0.type)" } ?? "-" }
                .joined(separator: " > ")
        }.joined(separator: ", ")
    }

    // MARK: Attributes

    /// The attribute from which another one is derived.
    private static func text() -> Track {
        let text = AttributeDescription("text", .string)
        return Track(earlier: text, old: text, new: text)
    }

    private static func derived(_ random: inout SeededGenerator) -> Track {
        let lower = AttributeDescription("lower", .string, derivation: .lowercase(of: "text"))
        return Track(
            earlier: random.oneIn(2) ? lower : nil, old: random.oneIn(4) ? nil : lower,
            new: random.oneIn(4) ? nil : lower)
    }

    private static func attribute(_ name: String, _ type: AttributeType) -> AttributeDescription {
        let elements = [AttributeDescription("x", .double), AttributeDescription("label", .string)]
        return AttributeDescription(name, type, elements: type == .composite ? elements : [])
    }

    private static func track(_ number: Int, _ random: inout SeededGenerator) -> Track {
        let (type, other) = (random.pick(types), random.pick(types))
        let former = attribute("a\(number)", type)
        var (earlier, old, new) = (former, former, former)
        if random.oneIn(3) { earlier = attribute("a\(number)", other) }
        let change = random.pick(Change.allCases)
        switch change {
        case .keep: if type == .composite { new.elements.append(AttributeDescription("more", .integer16)) }
        case .rename: (new.name, new.renamingIdentifier) = ("b\(number)", "a\(number)")
        case .require: (new.isOptional, new.defaultValue) = (false, plain(type, &random))
        case .retype:
            new = attribute("a\(number)", other)
            if random.oneIn(2) { (new.isOptional, new.defaultValue) = (false, plain(other, &random)) }
        case .spell:
            old = attribute("a\(number)", random.pick(integers))
            if !random.oneIn(3) { earlier = old }
            new = attribute("a\(number)", .string)
            if random.oneIn(4) { (new.isOptional, new.defaultValue) = (false, plain(.string, &random)) }
        case .shrink: if type == .composite { new.elements.removeLast() }
        case .addWithDefault: new.defaultValue = plain(type, &random)
        case .storeTransient: old.isTransient = true
        case .stopStoring: new.isTransient = true
        case .remove, .add: break
        }
        let isAdded = change == .add || change == .addWithDefault
        let isInEarlier = !isAdded && change != .storeTransient && !random.oneIn(6)
        return Track(
            earlier: isInEarlier ? earlier : nil, old: isAdded ? nil : old, new: change == .remove ? nil : new)
    }

    /// A value that may be a default: some types have none.
    private static func plain(_ type: AttributeType, _ random: inout SeededGenerator) -> AttributeValue {
        type == .composite || type == .transformable ? .null : random.value(of: type)
    }

    /// The types of all attributes that rows have before and after.
    var storedTypes: Set<AttributeType> { Set(tracks.filter(\.isKept).compactMap { $0.old?.type }) }
    /// The number of attributes that new rows have.
    var storedCount: Int { newEntity.attributes.filter(\.isStored).count }

    // MARK: Rows

    func transfer(fromEarlier isEarlier: Bool) throws -> FieldTransfer {
        let layout = try #require(older.currentLayouts[0])
        let number = isEarlier ? try #require(earlier.currentLayouts[0]).number : layout.number
        return FieldTransfer(
            from: try #require(older.shapes[number]), of: older.shapes, to: try #require(newer.currentLayouts[0]),
            of: newEntity, change)
    }

    /// The names of the attributes whose bytes cannot be copied, and are not the texts of integers.
    func computedNames(fromEarlier isEarlier: Bool) -> Set<String> {
        Set(
            tracks.compactMap { track in
                guard let new = track.new, !new.isTransient else { return nil }
                guard track.isKept else { return new.defaultValue.isNull ? nil : new.name }
                let isCopied = (track.keepsBytes || track.isSpelled) && !track.isRequired
                return isCopied && (track.isInEarlier || !isEarlier) ? nil : new.name
            })
    }

    /// The number of attributes that become the texts of integers.
    func spelledCount(fromEarlier isEarlier: Bool) -> Int {
        tracks.count { $0.isSpelled && !$0.isRequired && ($0.isInEarlier || !isEarlier) }
    }

    /// A new row that is made by `transfer`, and the one that is encoded from the expected values.
    mutating func rows(
        with transfer: FieldTransfer, fromEarlier isEarlier: Bool
    ) throws -> (found: [UInt8], expected: [UInt8]) {
        var known: [AttributeValue] = []
        for track in tracks { known.append((isEarlier ? track.earlier : track.old).map { value(of: $0) } ?? .null) }
        func values(of entity: Entity, _ value: (Track, AttributeValue) -> (AttributeDescription?, AttributeValue))
            -> [AttributeValue]
        {
            var byName: [String: AttributeValue] = [:]
            for (track, former) in zip(tracks, known) {
                let (attribute, value) = value(track, former)
                if let attribute { byName[attribute.name] = value }
            }
            return entity.attributes.map { byName[$0.name] ?? .null }
        }
        let version: UInt64 = random.pick([1, 255, 256, 65_536, 1 << 40])
        let (numbering, entity) = isEarlier ? (earlier, earlierEntity) : (older, oldEntity)
        var formerDestinations: [ObjectID?] = []
        for _ in entity.relationships { formerDestinations.append(destination(numbering)) }
        let destinations = newDestinations(formerDestinations, of: entity)

        let old = RowEncoder(numbering: numbering).row(
            of: 0, version: version,
            RowValues(values(of: entity) { (isEarlier ? $0.earlier : $0.old, $1) }, formerDestinations))
        let new = values(of: newEntity) { ($0.new, Self.newValue($0, $1, isEarlier)) }
        let encoder = RowEncoder(numbering: newer)
        let expected = encoder.row(of: 0, version: version, RowValues(new, destinations))
        let formerByteCount = random.pick([0, 8, 4_000])
        let found = try old.withRawSpan { row throws(RowReader.Damage) -> [UInt8] in
            let reader = RowReader(numbering: older)
            try reader.check(row)
            // The bytes of a longer or of a shorter row.
            var bytes = [UInt8](repeating: 0xEE, count: formerByteCount)
            let byteCount = transfer.write(
                &bytes, from: row, reader.offsets(of: row, reader.shape(of: row)),
                values: transfer.computed.map { new[$0.slot] },
                transfer.related.map { destinations[$0.relationship.slot] }, encoder)
            return Array(bytes[..<byteCount])
        }
        return (found, expected)
    }

    /// The destinations in a new row, from those in an old row of `entity`; those whose references change are random.
    private mutating func newDestinations(_ former: [ObjectID?], of entity: Entity) -> [ObjectID?] {
        var found: [ObjectID?] = []
        for relationship in newEntity.relationships {
            guard let name = oldEntity.relationships.first(where: { $0.name == relationship.name })?.name else {
                found.append(nil)
                continue
            }
            if name == Self.movedName {
                found.append(destination(newer))
                continue
            }
            let reference = entity.relationships.first { $0.name == name }.flatMap { former[$0.slot] }
            found.append(reference.flatMap { newer.id(entityNumber: entityNumber, key: $0.key) })
        }
        return found
    }

    /// The expected value in a new row, from the value in the old row.
    private static func newValue(_ track: Track, _ value: AttributeValue, _ isEarlier: Bool) -> AttributeValue {
        guard let new = track.new, !new.isTransient else { return .null }
        guard track.isKept else { return new.defaultValue }
        let former = isEarlier && !track.isInEarlier ? track.filled : value
        let migrated = former.isNull ? nil : track.keepsBytes ? former : new.migrated(former)
        return migrated ?? (track.isRequired ? new.defaultValue : .null)
    }

    private mutating func value(of attribute: AttributeDescription) -> AttributeValue {
        guard !attribute.isTransient, !random.oneIn(4) else { return .null }
        guard random.oneIn(16) else { return random.value(of: attribute.type) }
        let count = random.pick([255, 256, 300, 65_535, 65_536, 70_000])
        return switch attribute.type {
        case .string: .string(String(repeating: "ü", count: count / 2))
        case .binary: .binary(Data(repeating: 7, count: count))
        case .transformable: .transformable(Data(repeating: 8, count: count))
        default: random.value(of: attribute.type)
        }
    }

    private mutating func destination(_ numbering: StoreNumbering) -> ObjectID? {
        let key: UInt64 = random.pick([1, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000, 0xFFFF_FFFF, 1 << 32, 1 << 50])
        return random.oneIn(3) ? nil : numbering.id(entityNumber: entityNumber, key: key)
    }
}
