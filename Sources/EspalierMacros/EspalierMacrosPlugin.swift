// The entry point of the compiler plug-in: answers the compiler's requests over standard input and output.
//
// `SwiftCompilerPlugin` is not part of the libraries of the toolchain, so this file sets up the connection itself.

@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

@main
struct EspalierMacrosPlugin: PluginProvider {
    static func main() throws {
        let listener = CompilerPluginMessageListener(
            connection: try StandardIOMessageConnection(), provider: EspalierMacrosPlugin())
        try listener.main()
    }

    /// The macro with the type name that its declaration in `Espalier/Macros.swift` gives.
    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
        switch typeName {
        case "EntityMacro": EntityMacro.self
        case "PropertyAccessorMacro": PropertyAccessorMacro.self
        case "PropertyMarkMacro": PropertyMarkMacro.self
        case "CompositeMacro": CompositeMacro.self
        case "KeyPathGroupsMacro": KeyPathGroupsMacro.self
        default: throw UnknownMacro(module: moduleName, name: typeName)
        }
    }
}

/// The compiler asked for a macro that this plug-in lacks: the declarations and the plug-in have different versions.
struct UnknownMacro: Error, CustomStringConvertible {
    let module: String
    let name: String

    var description: String { "\(module) has no macro \(name); clean the build folder and build again" }
}
