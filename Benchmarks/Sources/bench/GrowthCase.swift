// An operation of `bench --growth`: its name, how fast it may grow, and the code that prepares it.
//
// Invariants
//   1. An operation on one object among many can run many times, and does the same work each time, unless it is `once`.
//   2. The preparation throws if it cannot prepare the operation: a body without work would pass any limit.

import Foundation

/// An operation that is measured.
struct GrowthCase: Sendable {
    typealias Preparation = @Sendable (PaperStore) throws -> () throws -> Void

    /// The kind of work that makes an operation grow faster than its steps, if any does.
    enum Work {
        /// None: the operation touches little memory, whatever the number of objects.
        case steps
        /// It makes or visits all objects.
        case objects
        /// It fills or searches a hash table of all objects.
        case tables
        /// It reads the rows of all objects.
        case rows
        /// It reads or writes a file that is as large as a store of all objects.
        case file

        /// The reason of a growth that the controls have, too.
        var reason: String {
            switch self {
            case .steps: ""
            case .objects: "all objects together outgrow the caches of the processor"
            case .tables: "a hash table of all objects outgrows the caches of the processor"
            case .rows: "the rows of all objects outgrow the caches of the processor"
            case .file: "pages of a large file are spread over more memory"
            }
        }
    }

    let name: String
    /// The expected exponent, unless the operation sorts.
    let power: Double
    /// Whether it sorts all objects, so that n log n comparisons are expected.
    let sorts: Bool
    /// The reason of the expected exponent, or of a growth that the controls have, too.
    let reason: String
    /// The kind of the operation, and of the controls with which it is compared.
    let work: Work
    /// Whether it is plain Swift, for comparison.
    var isControl = false
    /// Whether the operation runs many times in a row: one run is too short to be measured.
    let isRepeated: Bool
    /// Prepares the operation with a store and returns it.
    let prepare: Preparation

    /// - Parameters:
    ///   - work: `nil` = `.steps` for an operation on one object among all, and `.objects` for one on all.
    ///   - once: whether a second run would have less to do, or nothing.
    ///   - sorts: whether it sorts all objects; `power` is 1 then.
    init(
        _ name: String, _ power: Double, reason: String = "", work: Work? = nil, once: Bool = false,
        sorts: Bool = false, _ prepare: @escaping Preparation
    ) {
        (self.name, self.power, self.sorts, self.reason, self.prepare) = (name, power, sorts, reason, prepare)
        self.work = work ?? (power < 1 ? .steps : .objects)
        isRepeated = power == 0 && !once
    }

    /// The expected exponent of the decade between two numbers of objects: a sort takes n log n steps.
    func expectedExponent(from few: Int, to many: Int) -> Double {
        sorts ? power + log10(log(Double(many)) / log(Double(few))) : power
    }
}
