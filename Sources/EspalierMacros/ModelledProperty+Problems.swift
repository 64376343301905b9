// Declarations of properties that no entity can have as they are, although syntax finds nothing wrong with them alone.
//
// Invariants
//   1. Such a property gets accessors without meaning, so that the compiler reports nothing besides the macro's error.

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

extension ModelledProperty {
    /// An error, its place and its repair.
    typealias Problem = (diagnostic: EntityDiagnostic, place: Syntax, fix: EntityFix?)

    /// The collections that are relationships by their name.
    private static let collections: Set = ["ToMany", "OrderedToMany"]

    /// Whether the type is certainly a to-many relationship.
    var isLiveCollection: Bool { type.genericName.map(Self.collections.contains) ?? false }

    /// The reason why the property is not modelled.
    var problem: Problem? {
        if isOverride { return (.overridden(name: name), Syntax(binding.pattern), nil) }
        if fetchedMark != nil { return fetchedProblem }
        if type.wrapped.is(SomeOrAnyTypeSyntax.self), transformer == nil {
            return (.severalTypes(name: name, type: type.trimmedDescription), Syntax(type), nil)
        }
        if isLiveCollection, let collection = type.genericName, let element = type.genericArgument,
            AttributeKind(element) != nil
        {
            let diagnostic = EntityDiagnostic.relationshipToAttribute(
                collection: collection, type: element.trimmedDescription)
            return (diagnostic, Syntax(type), EntityFix.retyping(type, as: "[\(element.trimmed)]"))
        }
        return nil
    }

    private var fetchedProblem: Problem? {
        if let element = type.arrayElement, AttributeKind(element) == nil { return nil }
        let element = type.wrapped.arrayElement ?? type.wrapped.genericArgument ?? type.wrapped
        let fix = AttributeKind(element) == nil ? EntityFix.retyping(type, as: "[\(element.trimmed)]") : nil
        return (.fetchedNotList(name: name), Syntax(type), fix)
    }

    /// Reports marks that the property has twice, and marks for attributes on a relationship.
    func checkMarks(in context: some MacroExpansionContext) {
        for mark in ["Attribute", "Relationship", "Transient", "FetchedProperty"] {
            for repeated in attributes.attributes(named: mark).dropFirst() {
                context.report(.markTwice(name: name, mark: mark), at: repeated)
            }
        }
        guard isLiveCollection, relationshipMark == nil, fetchedMark == nil, let mark = attributeMark ?? transientMark
        else { return }
        context.report(
            .attributeMarkOnCollection(name: name, mark: mark.attributeName.trimmedDescription), at: mark,
            fix: .removing(mark))
    }
}
