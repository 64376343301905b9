// Random conditions and orders over the media model: small value domains, so that most conditions match some rows.

import EspalierModel
import EspalierStore
import TestSupport

/// The key paths from which random fetches of one entity are made.
private struct Paths {
    /// Key paths to attributes: text, whole numbers, doubles.
    let text: [String]
    let numbers: [String]
    let doubles: [String]
    /// Key paths to objects, with the entity at their end; to-many ones begin with "ANY ".
    let objects: [(path: String, entity: String)]
    /// To-many key paths to text.
    let manyText: [String]
}

private let mediaText = ["title", "owner.name"]
private let paths: [String: Paths] = [
    "Media": Paths(
        text: mediaText, numbers: ["length"], doubles: ["rating"],
        objects: [("owner", "Person"), ("ANY tags", "Tag")], manyText: ["tags.label"]),
    "Song": Paths(
        text: mediaText + ["album.name", "album.artist.name"], numbers: ["length", "bitrate", "album.year"],
        doubles: ["rating"],
        objects: [("owner", "Person"), ("album", "Album"), ("album.artist", "Person"), ("ANY playlists", "Playlist")],
        manyText: ["tags.label", "playlists.name"]),
    "Book": Paths(
        text: mediaText + ["isbn"], numbers: ["length", "pages"], doubles: ["rating"], objects: [("owner", "Person")],
        manyText: ["tags.label"]),
    "Album": Paths(
        text: ["name", "artist.name"], numbers: ["year"], doubles: [],
        objects: [("artist", "Person"), ("ANY songs", "Song")], manyText: ["songs.title", "songs.tags.label"]),
    "Person": Paths(
        text: ["name", "note.text"], numbers: ["born"], doubles: [],
        objects: [("note", "Note"), ("ANY friends", "Person"), ("ANY favourites", "Song")],
        manyText: ["albums.name", "media.title", "friends.name", "watched.title", "albums.songs.title"]),
    "Tag": Paths(
        text: ["label"], numbers: [], doubles: [], objects: [("ANY media", "Song")], manyText: ["media.title"]),
]

extension SeededGenerator {
    static let names = ["a", "b", "ab", "abc", "B", "é", "e\u{301}", "", "z\u{0}", "zz"]

    /// A small text, number or double of the domains that rows are filled from.
    mutating func smallText() -> AttributeValue { oneIn(8) ? .null : .string(pick(Self.names)) }
    mutating func smallNumber() -> AttributeValue { oneIn(8) ? .null : .integer(Int64(next() % 8) - 2) }
    /// A whole number of any width: at an end of the width's range, or within it.
    mutating func wideNumber() -> AttributeValue {
        let end = Int64.max >> Int64(next() % 63)
        return .integer(pick([end, ~end, end &+ 1, end / 3, 0]))
    }
    mutating func smallDouble() -> AttributeValue {
        oneIn(8) ? .null : .double(pick([0, -0.0, 1, 2.5, -3, .nan, .infinity]))
    }

    /// A random fetch; `ids` has objects to compare with, by entity name.
    mutating func fetch(_ fixture: StoreFixture, _ ids: [String: [ObjectID]]) throws -> StoreFetch {
        let entity = pick(["Media", "Song", "Book", "Album", "Person", "Tag"])
        let predicate = oneIn(6) ? nil : condition(on: entity, ids, depth: Int(next() % 3))
        var sort: [SortKey] = []
        if oneIn(2), let paths = paths[entity] {
            let options: [FetchPredicate.Comparison.Options] = [[], [], .caseInsensitive, .diacriticInsensitive]
            for _ in 0..<1 + next() % 2 {
                let path = pick(paths.text + paths.numbers + paths.doubles)
                guard !sort.contains(where: { $0.keyPath.components.joined(separator: ".") == path }) else { continue }
                sort.append(SortKey(path, ascending: oneIn(2), options: paths.text.contains(path) ? pick(options) : []))
            }
        }
        return try fixture.request(
            entity, predicate, sort: sort, offset: oneIn(3) ? Int(next() % 5) : 0,
            limit: oneIn(2) ? Int(next() % 8) : nil,
            subentities: !oneIn(6))
    }

    private mutating func condition(on entity: String, _ ids: [String: [ObjectID]], depth: Int) -> FetchPredicate {
        guard depth > 0 else { return comparison(on: entity, ids) }
        let parts = (0..<1 + next() % 3).map { _ in condition(on: entity, ids, depth: depth - 1) }
        switch next() % 5 {
        case 0: return .not(parts[0])
        case 1, 2: return .or(parts)
        default: return .and(parts)
        }
    }

    private mutating func comparison(on entity: String, _ ids: [String: [ObjectID]]) -> FetchPredicate {
        guard let paths = paths[entity] else { return .constant(true) }
        switch next() % 12 {
        case 0: return oneIn(4) ? .constant(oneIn(2)) : identity(entity, ids)
        case 1, 2: return object(pick(paths.objects), ids)
        case 3, 4: return text(pick(paths.manyText), modifier: pick([.any, .any, .any, .all, .none]))
        case 5, 6: return number(pick(paths.numbers + paths.doubles + paths.text), paths)
        case 7 where !paths.doubles.isEmpty: return number(pick(paths.doubles), paths)
        case 8 where !paths.numbers.isEmpty: return number(pick(paths.numbers), paths)
        default: return text(pick(paths.text), modifier: .direct)
        }
    }

    private mutating func identity(_ entity: String, _ ids: [String: [ObjectID]]) -> FetchPredicate {
        let chosen = (0..<1 + next() % 4).map { _ in FetchExpression.value(.objectID(id(of: entity, ids))) }
        if chosen.count == 1 { return .comparison(.init(.evaluatedObject, .equal, chosen[0])) }
        return .comparison(.init(.evaluatedObject, .in, .list(chosen)))
    }

    private mutating func object(_ target: (path: String, entity: String), _ ids: [String: [ObjectID]])
        -> FetchPredicate
    {
        let isMany = target.path.hasPrefix("ANY ")
        let path = keyPath(isMany ? String(target.path.dropFirst(4)) : target.path)
        let value: FetchExpression =
            oneIn(6) && !isMany ? .value(.null) : .value(.objectID(id(of: target.entity, ids)))
        if oneIn(3) {
            let list = [value] + (0..<2).map { _ in .value(.objectID(id(of: target.entity, ids))) }
            return .comparison(.init(path, .in, .list(list), modifier: isMany ? .any : .direct))
        }
        return .comparison(.init(path, oneIn(5) ? .notEqual : .equal, value, modifier: isMany ? .any : .direct))
    }

    private mutating func text(_ path: String, modifier: FetchPredicate.Comparison.Modifier) -> FetchPredicate {
        typealias Comparison = FetchPredicate.Comparison
        let operators: [Comparison.Operator] = [
            .equal, .equal, .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between,
            .in, .contains, .beginsWith, .beginsWith, .endsWith, .like,
        ]
        let options: [Comparison.Options] = [[], [], [], .caseInsensitive, [.caseInsensitive, .diacriticInsensitive]]
        let operation = pick(operators)
        let right: FetchExpression =
            switch operation {
            case .between: .list(bounds([pick(Self.names), pick(Self.names)].sorted().map { .string($0) }))
            case .in: .list((0..<1 + next() % 3).map { _ in .value(smallText()) })
            case .equal, .notEqual: .value(smallText())
            case .like: .value(.string(pick(["a*", "?", "*b", "*", "ab*", "z?*", "e\u{301}*", "b"])))
            default: .value(.string(pick(Self.names)))
            }
        return .comparison(.init(keyPath(path), operation, right, modifier: modifier, options: pick(options)))
    }

    private mutating func number(_ path: String, _ paths: Paths) -> FetchPredicate {
        guard !paths.text.contains(path) else { return text(path, modifier: .direct) }
        let isDouble = paths.doubles.contains(path)
        func value(_ random: inout SeededGenerator) -> AttributeValue {
            isDouble ? random.smallDouble() : random.smallNumber()
        }
        let operation =
            pick([.equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between, .in])
            as FetchPredicate.Comparison.Operator
        let right: FetchExpression =
            switch operation {
            case .between: .list(bounds(isDouble ? [.double(-1), .double(2)] : [.integer(0), .integer(3)]))
            case .in: .list((0..<1 + next() % 3).map { _ in .value(value(&self)) })
            case .equal, .notEqual: .value(value(&self))
            default: .value(isDouble ? .double(pick([-1, 0, 2.5])) : .integer(Int64(next() % 6)))
            }
        return .comparison(.init(keyPath(path), operation, right))
    }

    private func bounds(_ values: [AttributeValue]) -> [FetchExpression] { values.map { .value($0) } }

    private func keyPath(_ path: String) -> FetchExpression {
        .keyPath(FetchKeyPath(path.split(separator: ".").map(String.init)))
    }

    /// The ID of an object of the entity, or one that is never stored.
    private mutating func id(of entity: String, _ ids: [String: [ObjectID]]) -> ObjectID {
        let known = ids[entity] ?? []
        return known.isEmpty || oneIn(10) ? ObjectID(temporaryFor: entity) : pick(known)
    }
}
