#ifndef FLOW_H_
#define FLOW_H_
#endif
