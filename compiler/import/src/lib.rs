//! From syntax trees and weight files to IR.
