// The policies of a save for rows that another context or process has changed since this context read them.
//
// Invariants
//   1. A policy of the application's own answers with one of the five rules, never with another policy of its own: one
//      question gets one answer.

public import EspalierModel

/// The way in which a save resolves conflicts (Behaviour MP-01 to MP-06).
///
/// An object is in conflict if its row in the store is newer than the row that the context has read. If the context has
/// already merged a newer row, or refreshed the object, below unsaved changes, the object is in conflict only if both
/// sides have changed the same property to different values, or the order of the same ordered relationship. Changes of
/// different properties merge without a conflict. Additions to a to-many relationship and removals from it never
/// conflict.
///
/// The policy also decides about new objects whose unique values another one has already, if the constraint declares no
/// action (MP-10): `objectTrump` and `overwrite` merge the new object into the row, `storeTrump` and `rollback` let it
/// give way to the row. A changed object that breaks a constraint gets its stored values back under `storeTrump` and
/// `rollback`, and is refused otherwise.
///
/// If another context has deleted the row, `objectTrump` and `overwrite` insert the object again under its own ID;
/// `storeTrump` and `rollback` discard the object.
///
/// A policy of the application's own decides for each object, and for each property if necessary:
///
///     context.mergePolicy = MergePolicy { conflict, _ in
///         var resolution = MergeResolution(.objectTrump)
///         if let visits = try conflict[\Page.visits], let base = visits.base, let mine = visits.mine,
///             let stored = visits.stored
///         {
///             resolution.set(\Page.visits, to: mine + stored - base)
///         }
///         return resolution
///     }
public struct MergePolicy: Sendable, Hashable {
    /// The rules that resolve a conflict without the application.
    public enum Rule: Sendable, Hashable, CaseIterable {
        /// The save fails with `ContextError.conflicts`.
        case error
        /// Property by property: the store's value, unless only the context has changed the property.
        case storeTrump
        /// Property by property: the context's value if the context has changed the property, otherwise the store's.
        case objectTrump
        /// The save writes the object with the values that the context has.
        case overwrite
        /// The save discards the context's changes of the object.
        case rollback

        /// The rule for an object that is not in conflict itself, but related to one that is.
        var byProperty: Rule {
            switch self {
            case .error, .storeTrump, .rollback: .storeTrump
            case .objectTrump, .overwrite: .objectTrump
            }
        }
    }

    /// An application's resolver in an object of its own, which identifies the policy.
    private final class Custom: Sendable {
        let resolver: any MergeResolver

        init(_ resolver: any MergeResolver) { self.resolver = resolver }
    }

    private enum Kind: Sendable {
        case rule(Rule)
        case custom(Custom)
    }

    private let kind: Kind

    private init(_ kind: Kind) { self.kind = kind }

    /// The save fails with `ContextError.conflicts`.
    public static let error = MergePolicy(.error)
    /// Property by property: the store's value, unless only the context has changed the property.
    public static let storeTrump = MergePolicy(.storeTrump)
    /// Property by property: the context's value if the context has changed the property, otherwise the store's.
    public static let objectTrump = MergePolicy(.objectTrump)
    /// The save writes the object with the values that the context has.
    public static let overwrite = MergePolicy(.overwrite)
    /// The save discards the context's changes of the object.
    public static let rollback = MergePolicy(.rollback)

    /// The policy that follows a rule.
    public init(_ rule: Rule) { self.init(Kind.rule(rule)) }

    /// A policy of the application's own (MP-06).
    public init(_ resolver: some MergeResolver) { self.init(.custom(Custom(resolver))) }

    /// A policy of the application's own, as closures (MP-06); ``MergeResolver`` describes the calls.
    public init(
        _ resolve: @escaping @Sendable (MergeConflict, ManagedObject) throws -> MergeResolution,
        constraints: @escaping @Sendable (UniquenessConflict, ManagedObject) throws -> ConstraintResolution = { _, _ in
            .refuse
        }
    ) {
        self.init(ClosureResolver(conflicts: resolve, constraints: constraints))
    }

    /// The rule that the policy follows; `nil` for a policy of the application's own.
    public var rule: Rule? {
        if case .rule(let rule) = kind { rule } else { nil }
    }

    /// The application's code that decides; `nil` for a policy that follows a rule.
    var resolver: (any MergeResolver)? {
        if case .custom(let custom) = kind { custom.resolver } else { nil }
    }

    /// Whether both follow the same rule, or are copies of the same policy of the application's own.
    public static func == (left: MergePolicy, right: MergePolicy) -> Bool {
        switch (left.kind, right.kind) {
        case (.rule(let left), .rule(let right)): left == right
        case (.custom(let left), .custom(let right)): left === right
        case (.rule, .custom), (.custom, .rule): false
        }
    }

    /// Hashes the rule, or the identity of a policy of the application's own.
    public func hash(into hasher: inout Hasher) {
        switch kind {
        case .rule(let rule): hasher.combine(rule)
        case .custom(let custom): hasher.combine(ObjectIdentifier(custom))
        }
    }
}

extension MergePolicy: CustomStringConvertible {
    /// The name of the rule.
    public var description: String { rule.map { "\($0)" } ?? "a policy of the application's own" }
}

/// The application's code that resolves conflicts.
///
/// A save calls it after the store has refused the changes, once for each object in conflict. It may read any object of
/// the context, fetch, and change other objects; the save validates and writes these changes too. `save`, `reset` and
/// `rollback` of the context are refused meanwhile, as in other hooks of a save. If a conflict arises again because yet
/// another context has saved, the policy is asked again.
public protocol MergeResolver: Sendable {
    /// Decides about one object in conflict.
    ///
    /// - Parameters:
    ///   - conflict: the values of both sides, and those from which both started.
    ///   - object: the object, with the values of the context.
    /// - Returns: a rule for the object, and the values of the properties that it shall not decide.
    /// - Throws: any error: the save fails with `ContextError.refusedResolutions`, which has its text.
    func resolve(_ conflict: MergeConflict, of object: ManagedObject) throws -> MergeResolution

    /// Decides about one new or changed object whose values must be unique and are not, if the constraint declares no
    /// action (F-6); without an implementation the save is refused.
    ///
    /// - Throws: any error, as for conflicts.
    func resolve(_ conflict: UniquenessConflict, of object: ManagedObject) throws -> ConstraintResolution
}

extension MergeResolver {
    /// Refuses the save.
    public func resolve(_ conflict: UniquenessConflict, of object: ManagedObject) throws -> ConstraintResolution {
        .refuse
    }
}

private struct ClosureResolver: MergeResolver {
    let conflicts: @Sendable (MergeConflict, ManagedObject) throws -> MergeResolution
    let constraints: @Sendable (UniquenessConflict, ManagedObject) throws -> ConstraintResolution

    func resolve(_ conflict: MergeConflict, of object: ManagedObject) throws -> MergeResolution {
        try conflicts(conflict, object)
    }

    func resolve(_ conflict: UniquenessConflict, of object: ManagedObject) throws -> ConstraintResolution {
        try constraints(conflict, object)
    }
}

/// The answer of a policy of the application's own to one conflict.
public struct MergeResolution: Sendable, Hashable {
    /// The value that a property gets.
    public enum Choice: Sendable, Hashable {
        /// The context's.
        case mine
        /// The store's.
        case stored
        /// This value of an attribute; or the destination of a to-one relationship, as `.objectID`, or `.null`.
        case value(AttributeValue)
        /// These destinations of a to-many relationship, in their order if it is ordered.
        case destinations([ObjectID])
    }

    /// The rule for all properties without a choice.
    public var rule: MergePolicy.Rule
    /// The choices by property.
    public var choices: [String: Choice]

    /// Follows a rule, except for properties with a choice.
    public init(_ rule: MergePolicy.Rule, choices: [String: Choice] = [:]) {
        (self.rule, self.choices) = (rule, choices)
    }

    /// The choice for a property.
    public subscript(property: String) -> Choice? {
        get { choices[property] }
        set { choices[property] = newValue }
    }
}
