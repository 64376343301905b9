// The changes of a step of a walk, in the store and in the state that contexts show: to look into a failure.

import Espalier
import TestSupport

extension ContextWalk {
    private static let tells = campaignCount("ESPALIER_CONTEXT_TELLS", default: 0) > 0

    /// Does a step, and tells in the log what has changed, if the environment asks for that.
    mutating func told(_ step: (inout Self) throws -> Void) throws {
        guard Self.tells else { return try step(&self) }
        let (former, shownBefore) = (stored, try sides.map(shownValues))
        defer {
            if stored != former { log.append("      stored: \(Self.difference(former, stored))") }
            for (index, side) in sides.enumerated() where index < shownBefore.count {
                guard let shown = try? shownValues(side), shown != shownBefore[index] else { continue }
                log.append("      \(index) shows: \(Self.difference(shownBefore[index], shown))")
            }
        }
        try step(&self)
    }

    /// The values that a context shows of the beads that are no faults.
    private func shownValues(_ side: WalkSide) throws -> BeadState {
        var state: BeadState = [:]
        for (number, bead) in side.beads where bead.managedObjectContext != nil && !bead.isDeleted && !bead.isFault {
            state[number] = try BeadProperty.allCases.map { try board.shown(bead, $0) }
        }
        return state
    }

    private static func difference(_ former: BeadState, _ now: BeadState) -> String {
        var texts: [String] = []
        for number in Set(former.keys).union(now.keys).sorted() {
            let (before, after) = (former[number], now[number])
            if after == nil { texts.append("-\(number)") }
            if before == nil { texts.append("+\(number)") }
            guard let after else { continue }
            for property in BeadProperty.allCases where after[property] != before?[property] ?? [] {
                texts.append("\(number).\(property) \(before?[property] ?? []) to \(after[property])")
            }
        }
        return texts.joined(separator: "; ")
    }
}
