// Every policy, kind of property and way of merging, against what somebody else changed or deleted: what is stored.

import Espalier
import EspalierModel
import TestSupport
import Testing

/// How what others have saved gets below unsaved changes, before the save.
enum Merging: CaseIterable {
    case none, refresh, automatic
}

@Suite struct MergeTableTests {
    static let policies: [MergePolicy] = [.error, .storeTrump, .objectTrump, .overwrite, .rollback]

    /// A property of peg 0 that both sides change.
    struct Row: CustomTestStringConvertible {
        let property: String
        let base: [String]
        let mine: [String]
        let theirs: [String]
        /// The values that are stored if mine count, if theirs do, and, where that is possible, if both do.
        var both: [String]?
        /// As `both`, in the order of the context.
        var bothAsMine: [String]?

        var testDescription: String { "\(property) \(base): here \(mine), there \(theirs)" }
        var isToMany: Bool { both != nil }

        /// The ways of merging with which the `number`-th combination with other arguments is tried: one in turn, or
        /// all.
        func mergings(_ number: Int) -> [Merging] {
            let turn = property.utf8.count + mine.count + base.count + number
            return MergeTableTests.walksAll ? Merging.allCases : [Merging.allCases[turn % Merging.allCases.count]]
        }
    }
    private static let walksAll = campaignCount("ESPALIER_ALL_MERGINGS", default: 0) > 0

    static let rows = [
        Row(property: "a", base: ["0"], mine: ["1"], theirs: ["2"]),
        Row(property: "best", base: ["1"], mine: ["2"], theirs: ["3"]),
        Row(property: "best", base: [], mine: ["2"], theirs: ["3"]),
        Row(property: "best", base: ["1"], mine: [], theirs: ["3"]),
        Row(property: "head", base: ["1"], mine: ["2"], theirs: ["3"]),
        Row(property: "head", base: ["1"], mine: ["2"], theirs: []),
        Row(property: "mate", base: ["1"], mine: ["2"], theirs: ["3"]),
        Row(property: "mate", base: ["1"], mine: [], theirs: ["3"]),
        Row(property: "mate", base: ["1"], mine: ["2"], theirs: []),
        Row(property: "mateOf", base: [], mine: ["2"], theirs: ["3"]),
        Row(property: "tags", base: ["1"], mine: ["1", "2"], theirs: ["1", "3"], both: ["1", "2", "3"]),
        Row(property: "tags", base: ["1", "2"], mine: ["1"], theirs: ["2", "3"], both: ["3"]),
        Row(
            property: "list", base: ["1"], mine: ["1", "2"], theirs: ["1", "3"], both: ["1", "3", "2"],
            bothAsMine: ["1", "2", "3"]),
        Row(property: "list", base: ["1", "2"], mine: ["2"], theirs: ["1", "2", "3"], both: ["2", "3"]),
        Row(property: "list", base: ["1", "2", "3"], mine: ["3", "1", "2"], theirs: ["2", "1", "3"]),
        Row(property: "queue", base: ["1", "2", "3"], mine: ["3", "1", "2"], theirs: ["2", "1", "3"]),
        Row(
            property: "queue", base: ["1"], mine: ["1", "2"], theirs: ["1", "3"], both: ["1", "3", "2"],
            bothAsMine: ["1", "2", "3"]),
    ]

    private func board(_ kind: StoreKind, _ row: Row, _ policy: MergePolicy, _ merging: Merging) throws -> PegBoard {
        let board = try PegBoard(kind, count: 5, [("0", row.property, row.base)])
        board.mine.mergePolicy = policy
        board.mine.automaticallyMergesChangesFromParent = merging == .automatic
        return board
    }

    private func merge(_ board: PegBoard, _ merging: Merging) {
        switch merging {
        case .none: break
        case .refresh: board.mine.refreshAllObjects()
        case .automatic: board.mine.processPendingChanges()
        }
    }

    @Test(arguments: StoreKind.allCases, rows)
    func `a property that both sides changed is stored as the policy says, however the store's value came`(
        _ kind: StoreKind, _ row: Row
    ) throws {
        for (number, policy) in Self.policies.enumerated() {
            for merging in row.mergings(number) {
                let board = try board(kind, row, policy, merging)
                try board.set("0", row.property, row.mine, in: board.mine)
                try board.set("0", row.property, row.theirs, in: board.theirs)
                try board.theirs.save()
                merge(board, merging)
                let comment: Comment = "\(policy), \(merging)"

                let error = contextError { try board.mine.save() }

                let outcome = Self.outcome(row, policy, merging)
                if let stored = outcome {
                    #expect(error == nil, comment)
                    #expect(try board.stored()["0"]?[row.property] == stored, comment)
                    try board.expectAgreement(comment)
                } else {
                    try expectConflict(error, board, row, comment)
                    board.mine.refreshAllObjects()
                    try board.mine.save()
                    #expect(try board.stored()["0"]?[row.property] == row.both ?? row.mine, comment)
                    try board.expectAgreement(comment)
                }
            }
        }
    }

    /// The values that must be stored; `nil` = the save must fail.
    private static func outcome(_ row: Row, _ policy: MergePolicy, _ merging: Merging) -> [String]? {
        if let both = row.both {
            // Additions and removals are no conflict; the newer row of an ordered relationship is, if not merged.
            if row.property == "tags" || merging != .none { return both }
            switch policy.rule {
            case .error, nil: return nil
            case .rollback: return row.theirs
            case .overwrite: return row.bothAsMine ?? both
            case .storeTrump, .objectTrump: return both
            }
        }
        switch policy.rule {
        case .error, nil: return nil
        case .storeTrump, .rollback: return row.theirs
        case .objectTrump, .overwrite: return row.mine
        }
    }

    private func expectConflict(
        _ error: ContextError?, _ board: PegBoard, _ row: Row, _ comment: Comment
    ) throws {
        guard case .conflicts(let conflicts)? = error else {
            Issue.record("no conflict of \(row), \(comment)")
            return
        }
        let peg = try board.peg("0", in: board.mine)
        let conflict = try #require(conflicts.first { $0.object == peg.objectID }, comment)
        #expect(conflict.newVersion != nil && !conflict.isDeletedHere, comment)
        if let property = conflict.properties.first(where: { $0.name == row.property }) {
            let ids = try board.pegs(board.mine).mapValues { AttributeValue.objectID($0.objectID) }
            func value(_ texts: [String]) -> AttributeValue {
                if row.property == "a" { return .integer(Int64(texts[0]) ?? -1) }
                return texts.first.flatMap { ids[$0] } ?? .null
            }
            if property.destinations == nil {
                #expect(property.base == value(row.base) && property.mine == value(row.mine), comment)
                #expect(property.stored == value(row.theirs), comment)
            }
        } else {
            #expect(row.property == "list" || row.property == "queue", comment)
        }
        #expect(try board.state(of: board.mine)["0"]?[row.property] != row.theirs, comment)
    }

    @Test(arguments: StoreKind.allCases, rows)
    func `a changed object whose row is gone is inserted again or given up, as the policy says, however that is found`(
        _ kind: StoreKind, _ row: Row
    ) throws {
        for (number, policy) in Self.policies.enumerated() {
            for merging in row.mergings(number) {
                let board = try board(kind, row, policy, merging)
                try board.set("0", row.property, row.mine, in: board.mine)
                try board.set("0", "b", ["7"], in: board.mine)
                try board.theirs.delete(board.peg("0", in: board.theirs))
                try board.theirs.save()
                merge(board, merging)
                let comment: Comment = "\(policy), \(merging)"

                let error = contextError { try board.mine.save() }

                switch policy.rule {
                case .error, nil:
                    guard case .conflicts(let conflicts)? = error else {
                        Issue.record("no conflict of \(row), \(comment)")
                        continue
                    }
                    #expect(conflicts.contains { $0.newVersion == nil }, comment)
                    #expect(try board.stored()["0"] == nil, comment)
                    #expect(try board.peg("0", in: board.mine).b == 7, comment)
                    board.mine.mergePolicy = .objectTrump
                    try board.mine.save()
                    #expect(try board.stored()["0"]?["b"] == ["7"], comment)
                case .storeTrump, .rollback:
                    #expect(error == nil, comment)
                    #expect(try board.stored()["0"] == nil, comment)
                case .objectTrump, .overwrite:
                    #expect(error == nil, comment)
                    let stored = try #require(try board.stored()["0"], comment)
                    #expect(stored["b"] == ["7"], comment)
                    // Whom a to-one relationship of its own leads here is its own affair: it was led away meanwhile.
                    let expected = row.property == "queue" ? row.mine.filter { !row.base.contains($0) } : row.mine
                    #expect(stored[row.property] == expected, comment)
                }
                try board.expectAgreement(comment)
            }
        }
    }
}
