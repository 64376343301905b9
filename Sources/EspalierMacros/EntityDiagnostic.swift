// Every error that the macros report, each with a text that names the remedy, and a fix-it where there is one.

import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

enum EntityDiagnostic: DiagnosticMessage {
    case notAClass(found: String)
    case inheritsNothing(name: String)
    case constant(name: String)
    case untyped(name: String)
    case implicitlyUnwrapped(name: String)
    case observed
    case modified(name: String, modifier: String)
    case severalInOneDeclaration
    case momentaryDefault(name: String)
    case conditional(name: String)
    case reservedName(String)
    case ownInitializer
    case initializerWithoutDelegation
    case initializerOfEveryObject
    case groupsOutsideEntity(macro: String)
    case groupsOfOtherClass(macro: String, className: String)
    case groupNotLiteral(macro: String)
    case groupOfUnmodelledProperty(macro: String, name: String)
    case noGroups(macro: String)
    case transformableDefault(name: String)
    case derivedDefault(name: String)
    case derivedPathNotLiteral
    case notAStruct(found: String)
    case genericComposite
    case noElements(name: String)
    case contradictingMarks(name: String, other: String)
    case relationshipMarkOnAttribute(name: String, type: String)
    case optionNotLiteral
    case inverseNotLiteral
    case inverseOfItself(name: String)
    case fetchedWithMark(name: String, other: String)
    case fetchedDefault(name: String)
    case markOutsideEntity(mark: String)
    case markOnUnmodelledProperty(mark: String)

    var message: String {
        switch self {
        case .notAClass(let found):
            "@Entity belongs on a class that inherits from ManagedObject, but this is declared with '\(found)'"
        case .inheritsNothing(let name): "\(name) must inherit from ManagedObject or from another entity's class"
        case .constant(let name):
            "\(name) is a property of the model and must be a 'var'; use 'static let' for a constant of the class"
        case .untyped(let name): "\(name) needs an explicit type, from which the model is made"
        case .implicitlyUnwrapped(let name):
            "\(name) cannot be implicitly unwrapped; write '?' if it can have no value"
        case .observed: "a property of the model cannot have observers; override willSave(), or use a computed property"
        case .modified(let name, let modifier): "\(name) is a property of the model and cannot be '\(modifier)'"
        case .severalInOneDeclaration: "declare one property of the model in each 'var'"
        case .conditional(let name):
            "\(name) is within #if, so the model would differ from build to build; declare it outside"
        case .reservedName(let name):
            "every ManagedObject already has '\(name)'; give the property another name"
        case .ownInitializer:
            "a context makes objects with ManagedObject's initializers; write a 'convenience init' that calls "
                + "self.init(context:), or self.init() for an object that joins a context later"
        case .initializerWithoutDelegation:
            "an initializer of an entity class begins with self.init(context:), or with self.init() for an object that "
                + "joins a context later"
        case .initializerOfEveryObject:
            "every entity class has init(context:), which this one would hide and call forever; set the values of new "
                + "objects in awakeFromInsert(), or add a parameter"
        case .groupsOutsideEntity(let macro): "#\(macro) belongs in the body of a class with @Entity"
        case .groupsOfOtherClass(let macro, let name): "#\(macro) is about the class in which it is: write '\(name)'"
        case .groupNotLiteral(let macro):
            "write each group of #\(macro) as a list of key paths of one property each, such as '[\\.name, \\.year]'"
        case .groupOfUnmodelledProperty(let macro, let name):
            "\(name) is not a property of the model, so #\(macro) cannot name it"
        case .noGroups(let macro): "#\(macro) needs at least one list of key paths, such as '[\\.name]'"
        case .transformableDefault(let name):
            "\(name) is transformable and has no default, since its transformer may not be registered yet; set it in "
                + "awakeFromInsert()"
        case .derivedDefault(let name): "\(name) is derived and has no default: stores compute its value"
        case .derivedPathNotLiteral:
            "write the path as a key path literal of properties, such as '\\Track.title' or '\\Track.album?.title'"
        case .notAStruct(let found): "@Composite belongs on a struct, but this is declared with '\(found)'"
        case .genericComposite: "a composite struct cannot be generic: the types of its elements belong to the model"
        case .noElements(let name): "\(name) has no stored property that could be an element of a composite"
        case .momentaryDefault(let name):
            "the model computes the default of \(name) once, not for each object; set it in awakeFromInsert()"
        case .contradictingMarks(let name, let other):
            "\(name) cannot be a relationship and have @\(other), which is for attributes"
        case .relationshipMarkOnAttribute(let name, let type):
            "\(name) is an attribute, because \(type) is not an entity; @Relationship is for entity classes"
        case .optionNotLiteral:
            "write the options as literals such as '.indexed' and '.unique': the macro reads their names"
        case .inverseNotLiteral:
            "write the inverse as a key path of one property, such as '\\Album.tracks', or as its name, such as "
                + "'\"tracks\"'"
        case .inverseOfItself(let name):
            "a key path cannot lead from \(name) to \(name) itself; write the name of the inverse, '\"\(name)\"'"
        case .fetchedWithMark(let name, let other):
            "\(name) is a fetched property, whose value is never stored: remove @\(other)"
        case .fetchedDefault(let name): "\(name) is a fetched property and has no default: its request gives its value"
        case .markOutsideEntity(let mark): "@\(mark) belongs on a stored property of a class with @Entity"
        case .markOnUnmodelledProperty(let mark):
            "@\(mark) belongs on a stored property; this is not a property of the model"
        }
    }

    var diagnosticID: MessageID {
        let name = String(describing: self).prefix { $0 != "(" }
        return MessageID(domain: "Espalier", id: String(name))
    }

    var severity: DiagnosticSeverity { .error }
}

/// One change of the source that removes the cause of a diagnostic.
struct EntityFix: FixItMessage {
    let message: String
    let old: Syntax
    let new: Syntax

    var fixItID: MessageID { MessageID(domain: "Espalier", id: "fix") }

    /// A fix that replaces `old` by `replacement`.
    init(_ message: String, replacing old: some SyntaxProtocol, by replacement: some SyntaxProtocol) {
        (self.message, self.old, new) = (message, Syntax(old), Syntax(replacement))
    }
}

extension MacroExpansionContext {
    /// Reports `diagnostic` at `place`.
    func report(_ diagnostic: EntityDiagnostic, at place: some SyntaxProtocol, fix: EntityFix? = nil) {
        let fixIts = fix.map { [FixIt(message: $0, changes: [.replace(oldNode: $0.old, newNode: $0.new)])] } ?? []
        diagnose(Diagnostic(node: place, message: diagnostic, fixIts: fixIts))
    }
}
