// The names of a class's properties by their key paths, collected once for each class.
//
// Invariants
//   1. The key path of one property is found by `==`.
//   2. A chain such as `\Album.artist?.name` is found among the chains that compose the to-one relationships of the
//      classes, shorter ones first. `==` tells a composed key path from a literal, because it also compares the
//      writable beginning of both; their hash values, root and type are equal, and these decide.
//   3. The search for one chain composes at most `compositionCountMax` key paths of stored properties, and then as many
//      of relationships and transient properties; its answer is kept.
//   4. Only the last property of a chain can be transient, because relationships are stored.

import Synchronization

final class PropertyPaths: Sendable {
    /// The greatest number of key paths that the search for one chain composes: of stored properties, and again for
    /// transient ones.
    static let compositionCountMax = 5_000

    private static let known = Mutex<[ObjectIdentifier: PropertyPaths]>([:])

    /// The paths of a class.
    ///
    /// - Complexity: O(1); O(properties) at the first call for the class.
    static func of(_ objectClass: ManagedObject.Type) -> PropertyPaths {
        let id = ObjectIdentifier(objectClass)
        if let paths = known.withLock({ $0[id] }) { return paths }
        let paths = PropertyPaths(objectClass)
        return known.withLock { known in
            if let other = known[id] { return other }
            known[id] = paths
            return paths
        }
    }

    /// The properties along a key path.
    struct Chain: Sendable {
        let names: [String]
        /// Whether no store has values of the last property.
        let isTransient: Bool
    }

    private let properties: [_PropertyPath]
    private let names: [PathKey: String]
    private let transientNames: Set<String>
    /// The chains that were searched; `nil` for a key path of none.
    private let chains = Mutex<[PathKey: Chain?]>([:])

    private init(_ objectClass: ManagedObject.Type) {
        func identity<Object: EntityClass>(_ type: Object.Type) -> [_PropertyPath] { identityPaths(of: type) }
        properties = objectClass._propertyPaths
        // A metatype that is converted statically would be opened as that of `ManagedObject`.
        let entityClass = (objectClass as Any.Type) as? any EntityClass.Type
        let all = properties + (entityClass.map { identity($0) } ?? [])
        names = Dictionary(all.map { (PathKey($0.path), $0.name) }, uniquingKeysWith: { first, _ in first })
        transientNames = Set(properties.filter(\.isTransient).map(\.name))
    }

    /// The names of the properties along a key path of a class, for a request to stores: a transient property is a
    /// problem.
    static func names(
        along path: AnyKeyPath, in objectClass: ManagedObject.Type
    ) -> Result<[String], TranslationProblem> {
        let paths = of(objectClass)
        guard let chain = paths.chain(of: path) else { return .failure(.unmodelled(path, of: objectClass, paths)) }
        return chain.isTransient
            ? .failure(.transient(chain.names.joined(separator: "."))) : .success(chain.names)
    }

    /// The names of the properties along a key path of a class, for objects in memory: the last one may be transient.
    static func namesInMemory(
        along path: AnyKeyPath, in objectClass: ManagedObject.Type
    ) -> Result<[String], TranslationProblem> {
        let paths = of(objectClass)
        return paths.chain(of: path).map { .success($0.names) } ?? .failure(.unmodelled(path, of: objectClass, paths))
    }

    /// The names of the stored properties, in the order of the source.
    var propertyNames: [String] { properties.filter { !$0.isTransient }.map(\.name) }

    /// Whether no store has values of a property of the class.
    func isTransient(_ name: String) -> Bool { transientNames.contains(name) }

    /// Whether the class has a table of key paths: it is marked with `@Entity` and belongs to no actor.
    private var hasTable: Bool { !properties.isEmpty }

    /// The name of the property to which a key path of one step leads; `objectID` for `objectID` and `ref`.
    ///
    /// - Complexity: O(1).
    func name(of path: AnyKeyPath) -> String? { names[PathKey(path)] }

    /// The name of the property to which a key path of a class leads, for calls that can throw; `nil` for a key path of
    /// no property.
    ///
    /// - Throws: `ContextError.classWithoutKeyPaths`.
    /// - Complexity: O(1).
    static func modelledName(
        of path: AnyKeyPath, _ objectClass: ManagedObject.Type
    ) throws(ContextError) -> String? {
        let paths = of(objectClass)
        guard paths.hasTable else { throw .classWithoutKeyPaths("\(objectClass)") }
        return paths.name(of: path)
    }

    /// The name of the property to which a key path of a class leads, for calls that cannot throw.
    ///
    /// For a key path of no property it is the text of the key path, which is the name of none, so that whoever takes
    /// the name refuses it. If the class has no table of key paths, the text says that, too.
    static func chosenName(of path: AnyKeyPath, _ objectClass: ManagedObject.Type) -> String {
        let paths = of(objectClass)
        if let name = paths.name(of: path) { return name }
        return paths.hasTable ? "\(path)" : "\(path) (\(ContextError.classWithoutKeyPaths("\(objectClass)")))"
    }

    /// The properties along a key path across to-one relationships.
    ///
    /// - Complexity: O(1); a chain's first look-up composes the chains that are not longer, at most twice
    ///   `compositionCountMax`.
    func chain(of path: AnyKeyPath) -> Chain? {
        if let name = name(of: path) { return Chain(names: [name], isTransient: isTransient(name)) }
        let key = PathKey(path)
        if let known = chains.withLock({ $0[key] }) { return known }
        let chain = search(for: path)
        chains.withLock { $0[key] = .some(chain) }
        return chain
    }

    private func search(for path: AnyKeyPath) -> Chain? {
        // A chain ends in an optional.
        guard type(of: path).valueType is any OptionalType.Type else { return nil }
        // Transient properties have a count of their own: however many a class has, they hide no chain of stored ones.
        return search(for: path, endsInTransient: false) ?? search(for: path, endsInTransient: true)
    }

    private func search(for path: AnyKeyPath, endsInTransient: Bool) -> Chain? {
        let (root, valueType, hash) = (type(of: path).rootType, type(of: path).valueType, path.hashValue)
        var level = properties.map { (path: $0.path as AnyKeyPath, names: [$0.name]) }
        var compositionCount = 0
        while !level.isEmpty {
            var next: [(path: AnyKeyPath, names: [String])] = []
            for (beginning, names) in level {
                guard let toOne = type(of: beginning).valueType as? any ToOneProperty.Type else { continue }
                for property in PropertyPaths.of(toOne.destinationClass).properties {
                    let isToOne = type(of: property.path).valueType is any ToOneProperty.Type
                    guard isToOne || property.isTransient == endsInTransient else { continue }
                    compositionCount += 1
                    guard compositionCount <= Self.compositionCountMax else { return nil }
                    guard let longer = beginning.appending(path: property.chained) else { continue }
                    let chain = names + [property.name]
                    if type(of: longer).valueType == valueType, type(of: longer).rootType == root,
                        longer.hashValue == hash
                    {
                        return Chain(names: chain, isTransient: property.isTransient)
                    }
                    if isToOne { next.append((longer, chain)) }
                }
            }
            level = next
        }
        return nil
    }
}

/// A key path as a key of a dictionary.
// SAFETY: a key path is immutable, and those of properties capture nothing.
private struct PathKey: Hashable, @unchecked Sendable {
    private let path: AnyKeyPath

    init(_ path: AnyKeyPath) { self.path = path }
}

/// The type of a to-one relationship's property.
protocol ToOneProperty {
    static var destinationClass: ManagedObject.Type { get }
}

extension Optional: ToOneProperty where Wrapped: ManagedObject {
    static var destinationClass: ManagedObject.Type { Wrapped.self }
}

/// The key paths that identify an object of a class.
private func identityPaths<Object: ManagedObject>(of type: Object.Type) -> [_PropertyPath] {
    [
        _PropertyPath("objectID", \Object.objectID, \Object?.?.objectID),
        _PropertyPath("objectID", \Object.ref, \Object?.?.ref),
    ]
}
