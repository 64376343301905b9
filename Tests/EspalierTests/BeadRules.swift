// The delete rules of beads: the rows that a deletion removes as well, and the rows that must not be left without it.

import EspalierModel

/// The delete rules of a board.
struct BeadRules {
    private let rules: [DeleteRule]
    private let cascades: [BeadProperty]

    init(_ rules: [DeleteRule]) {
        self.rules = rules
        cascades = BeadProperty.relationships.filter { rules[$0.rawValue] == .cascade }
    }

    /// Whether some rule denies deletions.
    var canDeny: Bool { rules.contains(.deny) }

    func rule(_ property: BeadProperty) -> DeleteRule { rules[property.rawValue] }

    /// The beads, and those that cascades delete with them, along the relationships of any of the states.
    func reach(of beads: Set<Int>, in states: [BeadState]) -> Set<Int> {
        var (gone, next) = (beads, Array(beads))
        while let bead = next.popLast() {
            for state in states {
                for property in cascades {
                    for other in state[bead]?[property] ?? [] where gone.insert(other).inserted { next.append(other) }
                }
            }
        }
        return gone
    }

    /// The reason why the rules forbid deleting these beads while others stay, or `nil`; only untouched relationships
    /// count.
    func objection(
        to gone: Set<Int>, in state: BeadState, staying: (Int) -> Bool, untouched: (BeadCell, BeadCell?) -> Bool
    ) -> String? {
        for bead in gone {
            guard let row = state[bead] else { continue }
            for property in BeadProperty.relationships where !row[property].isEmpty {
                let rule = rule(property)
                if rule == .nullify || (rule == .noAction && property.inverse?.isToOne != true) { continue }
                for other in row[property] where staying(other) {
                    let back = property.inverse.map { BeadCell(other, $0) }
                    if untouched(BeadCell(bead, property), back) {
                        return "\(bead) is gone and \(other) is there, by \(rule) of \(bead).\(property)"
                    }
                }
            }
        }
        return nil
    }
}
